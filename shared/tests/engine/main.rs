//! The engine and the registry over simulated planes, on paused time.

#[cfg(test)]
mod circuits;
#[cfg(test)]
mod circuits_model;
#[cfg(test)]
mod discovery;
#[cfg(test)]
mod health;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod milo;
#[cfg(test)]
mod planes;
#[cfg(test)]
mod pump;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod queue_model;
#[cfg(test)]
mod roles;
#[cfg(test)]
mod store;
#[cfg(test)]
mod storms;
#[cfg(test)]
mod support;
#[cfg(test)]
mod workers;
#[cfg(test)]
mod writes;
