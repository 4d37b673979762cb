//! A provider whose servers are processes on this machine, for tests and demonstrations: the example of
//! `docs/providers.md`.
//!
//! An Instance runs the command of its only container, in a directory of its own and with a loopback address
//! of its own, which the command finds in [`ADDRESS`]. Its image is not used. Processes outlive the provider:
//! all that it knows is on disk.
//!
//! # The way through
//!
//! 1. [`command`](mod@command) says what an Instance wants: pure.
//! 2. [`folder`] is what is on disk, a file for each server.
//! 3. [`process`] starts a command, once at most, and tells whether it runs.
//! 4. [`provider`] is the contract, on these.

pub mod command;
pub mod folder;
pub mod process;
pub mod provider;

pub use command::{ADDRESS, Command};
pub use provider::Processes;
