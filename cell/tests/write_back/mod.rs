//! Write-back: the plan by tables and random worlds, and the controller over simulated planes on paused time.

#![allow(clippy::too_many_lines, reason = "tables of cases")]

#[cfg(test)]
mod arbitrary;
#[cfg(test)]
mod deletion;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod moves;
#[cfg(test)]
mod namesakes;
#[cfg(test)]
mod orphans;
#[cfg(test)]
mod owners;
#[cfg(test)]
mod partition;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod single;
#[cfg(test)]
mod steady_state;
#[cfg(test)]
mod support;
