//! The projector over simulated planes, on paused time.

#[cfg(test)]
mod bounded;
#[cfg(test)]
mod deployments;
#[cfg(test)]
mod events;
#[cfg(test)]
mod lost;
#[cfg(test)]
mod paused;
#[cfg(test)]
mod rebuilt;
#[cfg(test)]
mod relist;
#[cfg(test)]
mod repair;
#[cfg(test)]
mod steady;
#[cfg(test)]
mod support;
#[cfg(test)]
mod suspended;
#[cfg(test)]
mod tenants;
