//! The caches of the objects of planes, in memory: nothing in here sends requests.
//!
//! A [`Store`] holds the objects of one kind on one plane, fed by watches and by the answers to our own
//! writes. Of each it has a [`Digest`]: a few hundred bytes that show whether the object is in sync. The
//! object itself is kept only until it is reconciled, and only within the [`MemoryBudget`]. Listeners are
//! notified of a [`Change`]; what a server made of a write is remembered as its [`ServerNormalization`].
//!
//! All of it is generic over [`ObjectFacts`], what a controller keeps of an object: which kinds matter, and
//! what of them, is decided in higher layers.
//!
//! # The way through
//!
//! 1. [`digest`] is what a store holds of every object, with the [`ObjectFacts`] that its users add.
//! 2. [`store`] takes what watches, lists and answers bring; [`budget`] is the memory for whole objects.
//! 3. [`normalization`] compares what is desired with what a server made of the last write.
//!
//! This crate stands below that of the planes, not above it: a plane holds the stores of its kinds and its
//! watches feed them, while a store needs no plane, no client and no task to be what it is.

pub mod budget;
mod change;
pub mod digest;
mod facts;
pub mod normalization;
mod packed;
pub mod store;

pub use budget::MemoryBudget;
pub use change::{Change, Known, View};
pub use digest::Digest;
pub use facts::ObjectFacts;
pub use normalization::{ObjectPart, ServerNormalization};
pub use store::Store;
