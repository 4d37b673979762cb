//! The engine and the registry over simulated planes, on paused time.

#[cfg(test)]
mod circuits;
#[cfg(test)]
mod circuits_model;
#[cfg(test)]
mod discovery;
#[cfg(test)]
mod events;
#[cfg(test)]
mod health;
#[cfg(test)]
mod hub_circuit;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod milo;
#[cfg(test)]
mod milo_marks;
#[cfg(test)]
mod milo_projects;
#[cfg(test)]
mod milo_vanished;
#[cfg(test)]
mod planes;
#[cfg(test)]
mod pump;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod queue_model;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod restores;
#[cfg(test)]
mod roles;
mod sizes;
#[cfg(test)]
mod stalls;
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
