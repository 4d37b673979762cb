//! The workload controller over in-memory planes, on paused time.

#[cfg(test)]
mod adoption;
#[cfg(test)]
mod cost;
#[cfg(test)]
mod deletion;
#[cfg(test)]
mod governed;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod locations;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod moves;
#[cfg(test)]
mod mutating;
#[cfg(test)]
mod networks;
#[cfg(test)]
mod paused;
mod placements;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod progress;
#[cfg(test)]
mod revisions;
#[cfg(test)]
mod status;
#[cfg(test)]
mod steady;
#[cfg(test)]
mod support;
#[cfg(test)]
mod suspended;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod withdrawn;
