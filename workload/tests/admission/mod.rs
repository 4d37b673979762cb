//! What admission says of Workloads, WDs and types of instances: every rule once, with its words, and what
//! has to stay possible (W4).

#[cfg(test)]
mod cases;
#[cfg(test)]
mod deployments;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod leniency;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod rules;
#[cfg(test)]
mod types;
