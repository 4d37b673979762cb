//! The controller of WDs over a simulated cell, on paused time, and the plan of its networks.

#![allow(clippy::too_many_lines, reason = "tables of cases")]

#[cfg(test)]
mod autoscaling;
#[cfg(test)]
mod disruptions;
#[cfg(test)]
mod ends;
#[cfg(test)]
mod fabric;
#[cfg(test)]
mod growth;
#[cfg(test)]
mod moves;
#[cfg(test)]
mod network_plans;
#[cfg(test)]
mod networks;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod rollouts;
#[cfg(test)]
mod scale_settings;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod story;
#[cfg(test)]
mod support;
#[cfg(test)]
mod surges;
#[cfg(test)]
mod trouble;
#[cfg(test)]
mod unbind;
