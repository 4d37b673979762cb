//! The configuration file of the provider.

mod check;
mod file;

pub use check::ConfigFault;
pub use file::{Auth, Config, Region, Url};
