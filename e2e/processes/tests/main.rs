//! The contract of providers on real processes.

#[cfg(test)]
mod contract;
