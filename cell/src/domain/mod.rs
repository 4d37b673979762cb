//! The decisions of the cell's controllers: pure functions over values.
//!
//! - [`instances`]: which Instances a WD has, and in which order they come and go.
//! - [`status`]: what WDs and Instances say of themselves; gates; termination.
//! - [`network`], [`quota`], [`autoscaling`], [`referenced_data`]: what the features of a cell need.

pub mod autoscaling;
pub mod instances;
pub mod network;
pub mod quota;
pub mod referenced_data;
pub mod status;
