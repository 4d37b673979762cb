//! All integration tests of this crate, in one program: each further program would link every dependency once
//! more.

#[cfg(test)]
mod admission;
#[cfg(test)]
mod instance_types;
#[cfg(test)]
mod referenced_data;
#[cfg(test)]
mod rollouts;
#[cfg(test)]
mod workload_controller;
