//! Cell: what makes the Instances of a `WorkloadDeployment` where they run.

pub mod instances;
