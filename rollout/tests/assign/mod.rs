//! The decision: tables for each rule, properties in random worlds, complaints about others, and its cost.

mod complaints;
mod cost;
mod properties;
mod rules;
mod scene;
mod simulator;
