//! What admission says of Workloads, WDs and types of instances: every rule once, with its words, and what has to stay
//! possible (W4).

mod fixtures;
mod leniency;
mod questions;
mod rules;
