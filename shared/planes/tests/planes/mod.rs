//! The registry over simulated planes, on paused time.

#[cfg(test)]
#[cfg(test)]
mod discovery;
#[cfg(test)]
mod engaging;
#[cfg(test)]
mod events;
#[cfg(test)]
mod health;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod identity_shards;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod milo;
#[cfg(test)]
mod milo_long_gone;
#[cfg(test)]
mod milo_marks;
#[cfg(test)]
mod milo_projects;
#[cfg(test)]
mod milo_vanished;
#[cfg(test)]
mod missing_entitlements;
#[cfg(test)]
mod onboarding;
#[cfg(test)]
mod optional;
#[cfg(test)]
mod pauses;
#[cfg(test)]
mod pump;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod restored_management;
#[cfg(test)]
mod restores;
#[cfg(test)]
mod roles;
#[cfg(test)]
mod services;
mod sizes;
#[cfg(test)]
mod storms;
#[cfg(test)]
mod support;
#[cfg(test)]
mod too_large;
#[cfg(test)]
mod went_back;
#[cfg(test)]
mod writes;
