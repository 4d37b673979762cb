//! How long lists may be: far above any sensible use, and short enough that a review ends soon, whatever is
//! in an object.

pub use fedhub_api::{MOST_CITIES as CITIES, MOST_PLACEMENTS as PLACEMENTS};

/// Metrics of a placement.
pub const METRICS: usize = 10;
/// Containers of a sandbox.
pub const CONTAINERS: usize = 32;
/// Secrets that images are pulled with.
pub const PULL_SECRETS: usize = 100;
/// Ports of a container, or of a machine.
pub const PORTS: usize = 100;
/// Variables of a container.
pub const VARIABLES: usize = 500;
/// `ConfigMap`s and Secrets all keys of which are variables of a container.
pub const SOURCES: usize = 100;
/// Volumes of an instance.
pub const VOLUMES: usize = 100;
/// Volumes of a container, or of a machine.
pub const ATTACHMENTS: usize = 100;
/// Interfaces of an instance.
pub const INTERFACES: usize = 16;
/// Rules, ports, blocks and exceptions of them in a network policy, all together.
pub const POLICY: usize = 1000;
/// Public keys of a machine.
pub const SSH_KEYS: usize = 100;
/// Labels, and annotations, of a template.
pub const METADATA: usize = 100;
