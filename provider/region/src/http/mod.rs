//! Requests to one service: sent within its limits, and judged.
//!
//! `wire` is a connection; `connections` makes one of the configured trust, anew when the files change;
//! `endpoint` holds requests back by the limits and the circuit breaker; `answer` says what an answer means.

mod answer;
mod connections;
mod endpoint;
mod pace;
mod retry_after;
mod wire;

pub use answer::{Answer, failure, unreadable};
pub use connections::{Connections, TrustFiles};
pub use endpoint::{Ask, Endpoint, EndpointConfig};
