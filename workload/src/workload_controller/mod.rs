//! Workloads into WDs, and their status back (specification, W1 to W3, W7 and W10).
