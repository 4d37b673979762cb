//! Queues and workers over simulated planes, on paused time.

#[cfg(test)]
mod apply;
#[cfg(test)]
mod circuits;
#[cfg(test)]
mod circuits_model;
#[cfg(test)]
mod diverging;
#[cfg(test)]
mod hub_circuit;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod queue_model;
#[cfg(test)]
mod reconcile;
#[cfg(test)]
mod recovery;
#[cfg(test)]
mod stalls;
#[cfg(test)]
mod support;
#[cfg(test)]
mod workers;
#[cfg(test)]
mod write_throttle;
