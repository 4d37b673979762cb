//! The readiness controller over planes in memory, on paused time, and its pure part.

#![allow(clippy::too_many_lines, reason = "tables of cases")]

#[cfg(test)]
mod away;
#[cfg(test)]
mod claims;
#[cfg(test)]
mod denied;
#[cfg(test)]
mod features;
#[cfg(test)]
mod marks;
#[cfg(test)]
mod places;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod power;
#[cfg(test)]
mod quota;
#[cfg(test)]
mod referenced_data;
#[cfg(test)]
mod steady;
#[cfg(test)]
mod support;
#[cfg(test)]
mod suspended;
#[cfg(test)]
mod terminating;
