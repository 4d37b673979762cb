//! The annotations that ask for faults and durations, and the durations without them.

use std::time::Duration;

/// Begins every annotation that a part reads.
pub const PREFIX: &str = "simulate.fedhub.dev/";
/// On an Instance (from its template's annotations) or a `NetworkBinding` (and what is made for it): what
/// goes wrong with it. The values are those of [`provider::Fault`](crate::provider::Fault) and
/// [`network::Fault`](crate::network::Fault).
pub const FAULT: &str = "simulate.fedhub.dev/fault";
/// On an Instance or a `NetworkBinding`: how long it takes to come up, such as `5s`, in place of the default.
pub const START_TIME: &str = "simulate.fedhub.dev/start-time";
/// On an Instance: how long its teardown takes, such as `5s`, in place of the default. Without either, and
/// without a teardown fault, an Instance is deleted at once.
pub const TEARDOWN_TIME: &str = "simulate.fedhub.dev/teardown-time";
/// On an Instance: what goes wrong when it is torn down. The values are those of
/// [`teardown::Fault`](crate::teardown::Fault).
pub const TEARDOWN_FAULT: &str = "simulate.fedhub.dev/teardown-fault";
/// Finalizer of an Instance that is to be torn down before it goes.
pub const PROVIDER_FINALIZER: &str = "simulate.fedhub.dev/provider";
/// On a Namespace of a project plane: how many claims are granted in it at a time, or `invalid`. A claim that
/// it has refused stays refused.
pub const QUOTA: &str = "simulate.fedhub.dev/quota";

/// How long things take, where no annotation says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// How long an Instance or a network takes to come up.
    pub start: Duration,
    /// How long the teardown of an Instance takes; if zero, no teardown is waited for.
    pub teardown: Duration,
}
