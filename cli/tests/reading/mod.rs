//! The commands that read: what they show of a project, and what they say of what they could not read.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, missing_docs, reason = "tests")]

mod cities;
mod events;
mod explain;
mod instances;
mod paused;
mod plane;
mod program;
mod quota;
mod support;
mod suspended;
mod widths;
mod workloads;
