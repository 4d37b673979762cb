//! The simulated services: their steps as tables, and their loops over simulated planes on paused time.

#[cfg(test)]
mod loops;
#[cfg(test)]
mod metrics;
#[cfg(test)]
mod network;
#[cfg(test)]
mod provider;
#[cfg(test)]
mod quota;
#[cfg(test)]
mod subnet;
#[cfg(test)]
mod support;
