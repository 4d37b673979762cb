//! The plan of the projector: a pure function, by tables and by random worlds.

#[cfg(test)]
mod arbitrary;
#[cfg(test)]
mod deletion;
#[cfg(test)]
mod fixpoint;
#[cfg(test)]
mod identity;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod projecting;
#[cfg(test)]
mod rendering;
#[cfg(test)]
mod support;
#[cfg(test)]
mod world;
