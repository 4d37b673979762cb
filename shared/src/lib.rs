//! What both controllers stand on: API types, the registry of planes, the engine.

pub mod api;
