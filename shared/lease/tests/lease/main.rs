//! Leadership: the election by hand, over a modelled network, and over simulated planes on paused time.

#[cfg(test)]
mod cell;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod model;
#[cfg(test)]
mod pauses;
#[cfg(test)]
mod replicas;
#[cfg(test)]
mod support;
#[cfg(test)]
mod table;
