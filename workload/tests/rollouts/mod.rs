//! `WorkloadRollout`s between their JSON and what rollouts are decided on.

#[cfg(test)]
mod approvals;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod spec;
#[cfg(test)]
mod status;
