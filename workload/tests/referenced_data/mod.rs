//! Referenced data over simulated planes, on paused time: with the federator, for which it waits and which
//! mirrors what it says.

#[cfg(test)]
mod copies;
#[cfg(test)]
mod counts;
mod drift;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod plan;
#[cfg(test)]
mod spaces;
#[cfg(test)]
mod support;
#[cfg(test)]
mod watches;
#[cfg(test)]
mod withdrawn;
