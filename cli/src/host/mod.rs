//! The contract with the program that starts this one: `datumctl`, `kubectl` or a shell.

pub mod completion;
pub mod environment;
pub mod manifest;
pub mod program;
