//! The readiness controller over planes in memory, on paused time, and its pure part.

#[cfg(test)]
mod away;
#[cfg(test)]
mod claims;
#[cfg(test)]
mod data;
#[cfg(test)]
mod features;
#[cfg(test)]
mod marks;
#[cfg(test)]
mod places;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod quota;
#[cfg(test)]
mod steady;
#[cfg(test)]
mod support;
#[cfg(test)]
mod suspended;
#[cfg(test)]
mod terminating;
