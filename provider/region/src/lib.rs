//! The provider of a region service: servers over REST, with `OAuth2` or mutual TLS (specification, V7).
//!
//! # The way through
//!
//! 1. [`Config`] is the file that an operator writes: regions, who fedhub is to them, and what names of
//!    projects, networks, types and images mean there. It is checked as a whole.
//! 2. `translate` makes the server of an Instance by it, without a request.
//! 3. [`RegionProvider`] asks: one region has one client, with its own connections, limits, circuit breaker
//!    and token. `http` sends and judges, `token` renews, `wire` is what travels.
//!
//! The service is not trusted to answer well: bodies are bounded, unknown words are Unknown, an item that
//! cannot be read is left out, and only the service's own 404 proves that a server does not exist (V3).

mod config;
mod http;
mod ids;
mod provider;
mod region;
mod spec;
mod token;
mod translate;
mod user_data;
mod wire;

pub use config::{Config, ConfigFault};
pub use ids::Uuid;
pub use provider::RegionProvider;
pub use spec::{ServerSpec, UserData};
