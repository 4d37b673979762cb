//! Federator: WorkloadDeployments down to the hub, their status back up.
