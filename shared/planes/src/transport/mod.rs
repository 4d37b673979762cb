//! The HTTP stack of one plane: patience, limit on requests in flight, weights, metrics, time-outs, base
//! path, authentication, over hyper.
//!
//! kube's own client waits for ever on a server that accepts and never answers, or that begins an answer and
//! does not go on, and retries 5xx silently up to fifteen times; here the first two are errors after a few
//! seconds and the third is the queue's business. The waits between attempts are in [`backoff`].
//!
//! The lowest layer: it uses nothing of the other folders.

pub mod backoff;
mod body;
mod connect;
mod health;
mod lanes;
mod liveness;
mod measure;
mod page_counts;
mod pool;
pub(crate) mod reader;
mod retry_after;
mod served;
mod server;
mod stack;
mod timeout;
mod watch_throttle;
mod watches;
mod weigh;
pub mod weight;

pub use health::{HealthLayer, ServerHealth, WatchStarts};
pub use measure::MeasureLayer;
pub(crate) use page_counts::PAGES;
pub use pool::{OwnConnection, Pools};
pub use retry_after::RetryAfterLayer;
pub use server::{Connection, ConnectionAttempt, Server};
pub use stack::{Transport, TransportConfig, UnusableConfig};
pub use timeout::{HeaderTimeoutLayer, TimedOut};
pub(crate) use watch_throttle::BeforeWatch;
pub use watch_throttle::{APART, WatchThrottleLayer};
pub(crate) use weigh::InPieces;
pub use weigh::{AnswerKind, WeighLayer};
