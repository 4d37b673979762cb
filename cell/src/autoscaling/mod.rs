//! Autoscaling of a WD in its cell (C13).
//!
//! A WD *scales* where its `scaleSettings` have a maximum and at least one metric. Then a `HorizontalPodAutoscaler` of its
//! name and in its namespace, controlled by it, owns `spec.replicas` of the cell's WD: the cell's own autoscaling
//! controller writes it through the scale subresource, between minimum and maximum, and Karmada's interpreter keeps what
//! it wrote (`deploy/components/hub`, which asks the same two questions). Everywhere else the project's number stands.
//!
//! What is measured, Pods are: a cell's provider runs each Instance as a Pod with the Instance's labels, by which
//! `status.selector` finds it. The autoscaler measures CPU and memory of those by `metrics.k8s.io`. What it cannot be told,
//! such as a metric of another kind, is said in the condition `ScalingActive` of the WD. No autoscaler stands for that
//! long, and the number stays as it was, within its bounds. What the autoscaler says of itself is said there too: nobody
//! sees it in the project.
//!
//! The scale subresource cannot be read while `spec.replicas` is absent, and an autoscaler leaves a WD of 0 replicas alone.
//! Where it finds either, the cell writes the number that it begins with.
//!
//! An autoscaler of that name that another made is not touched (C3).

mod plan;
mod settings;

pub use plan::{Plan, Step, plan};
pub use settings::{Metric, Resource, Settings, Target, desired};
