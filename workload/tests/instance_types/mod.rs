//! The catalogue of instance types: plans by themselves, and the controller over simulated planes, on paused
//! time.

#[cfg(test)]
mod controller;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod support;
