//! The federator over simulated planes, on paused time.

#[cfg(test)]
mod deletion;
#[cfg(test)]
mod drift;
#[cfg(test)]
mod gaps;
#[cfg(test)]
mod planes;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod steady;
#[cfg(test)]
mod support;
#[cfg(test)]
mod twins;
