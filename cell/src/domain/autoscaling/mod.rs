//! Autoscaling of a WD in its cell (C13).
//!
//! A WD *scales* where its `scaleSettings` have a maximum and at least one metric. Then a
//! `HorizontalPodAutoscaler` of its name, controlled by it, owns `spec.replicas` of the cell's WD through the
//! scale subresource, and Karmada's interpreter keeps what it wrote (`deploy/components/hub`). Everywhere
//! else the project's number counts.
//!
//! The autoscaler measures CPU and memory of Pods by `metrics.k8s.io`: a cell's provider runs each Instance
//! as a Pod with the Instance's labels, which `status.selector` selects. Settings that it cannot follow are
//! reported in the condition `ScalingActive` of the WD; then there is no autoscaler, and the number stays
//! within its bounds. What the autoscaler itself reports is repeated there, for the project.
//!
//! The scale subresource cannot be read while `spec.replicas` is absent: then the cell writes the number to
//! begin with. Where the project says 0, as the number or as the least, there is no autoscaler and no
//! Instance until it says another number. An autoscaler of that name with another controller is not touched
//! (C3).

mod plan;
mod settings;

pub use plan::{AutoscalerPlan, AutoscalerStep, plan};
pub use settings::{AutoscalingMetric, AutoscalingSettings, AutoscalingTarget, Resource, desired, excess};
