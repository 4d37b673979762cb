//! All integration tests of this crate, in one program: each further program would link every dependency once
//! more.

#[cfg(test)]
mod deployment_controller;
#[cfg(test)]
mod domain;
#[cfg(test)]
mod instance_controller;
#[cfg(test)]
mod write_back;
