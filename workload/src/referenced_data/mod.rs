//! `ConfigMap`s and Secrets that templates refer to, copied beside the WDs of the hub (specification, W5 and W6).
