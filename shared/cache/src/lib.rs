//! What is known of the objects of planes, in memory: nothing in here speaks to a server.
//!
//! A [`Store`] holds the objects of one kind on one plane, fed by whoever watches them and by the answers to our own
//! writes. Of each it knows a [`Digest`]: a few hundred bytes that tell whether the object is in order. The object
//! itself is kept only while something about it waits to be done, and only as long as there is [`MemoryBudget`]. What an event
//! changed is told as a [`Change`]; what a server made of a write is remembered as its [`ServerNormalization`].
//!
//! # The way through
//!
//! 1. [`digest`] is what a store keeps of an object.
//! 2. [`store`] takes what a watch or a write says of it; [`budget`] is the memory for whole objects.
//! 3. [`echo`] compares what is wanted with what a server made of the last write.
//!
//! This crate stands below that of the planes, not above it: a plane holds the stores of its kinds and its watches feed
//! them, while a store needs no plane, no client and no task to be what it is.

pub mod budget;
mod change;
pub mod digest;
pub mod normalization;
pub mod store;

pub use budget::MemoryBudget;
pub use change::{Change, Known, View};
pub use digest::Digest;
pub use normalization::{Part, ServerNormalization};
pub use store::Store;
