//! The federator over simulated planes, on paused time.

#[cfg(test)]
mod bounded;
#[cfg(test)]
mod condition;
#[cfg(test)]
mod convergence;
#[cfg(test)]
mod deletion;
#[cfg(test)]
mod drift;
#[cfg(test)]
mod events;
#[cfg(test)]
mod forced;
#[cfg(test)]
mod held;
#[cfg(test)]
mod held_moves;
#[cfg(test)]
mod late_create;
#[cfg(test)]
mod milo;
#[cfg(test)]
mod moves;
#[cfg(test)]
mod orphans;
#[cfg(test)]
mod outlook;
#[cfg(test)]
mod paused;
#[cfg(test)]
mod planes;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod relist;
#[cfg(test)]
mod restored;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod sizes;
#[cfg(test)]
mod stalled;
mod steady;
#[cfg(test)]
mod support;
#[cfg(test)]
mod suspended;
#[cfg(test)]
mod teardown;
#[cfg(test)]
mod twins;
#[cfg(test)]
mod withdrawn;
