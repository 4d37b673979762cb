//! Admission of Workloads, WDs and `InstanceType`s: defaults, rules and reviews (specification, W4).
