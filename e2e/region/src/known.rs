//! What a region has by default, whose IDs are the same in every process: configurations of providers name
//! them. `fedhub-region --ids` prints them.

use serde_json::{Value, json};

/// The tag that links a server to the Instance that it is for.
pub const INSTANCE_TAG: &str = "compute.datumapis.com/instance";
/// The organization.
pub const ORGANIZATION: &str = "d0000000-0000-4000-8000-000000000001";
/// Its project, of which all networks are.
pub const PROJECT: &str = "e0000000-0000-4000-8000-000000000001";
/// The region.
pub const REGION: &str = "c7b0a3a1-4a11-4c6e-8f5a-0c1d2e3f4a5b";
/// A network.
pub const NETWORK: &str = "a3c5e7f1-0000-4000-8000-000000000001";
/// Another network.
pub const OTHER_NETWORK: &str = "a3c5e7f1-0000-4000-8000-000000000002";
/// A flavor of 2 cores and 4 GiB.
pub const SMALL: &str = "f1a0e000-0000-4000-8000-000000000001";
/// A flavor of 8 cores and 32 GiB.
pub const LARGE: &str = "f1a0e000-0000-4000-8000-000000000002";
/// An image.
pub const IMAGE: &str = "e1a0e000-0000-4000-8000-000000000001";
/// A newer image.
pub const NEW_IMAGE: &str = "e1a0e000-0000-4000-8000-000000000002";
/// The name of the client that gets tokens, and of the certificate that stands in for one.
pub const CLIENT: &str = "fedhub";
/// The secret of that client.
pub const SECRET: &str = "a-secret-of-tests";

/// All of these, by name.
pub fn ids() -> Value {
    json!({
        "organization": ORGANIZATION, "project": PROJECT, "region": REGION,
        "network": NETWORK, "otherNetwork": OTHER_NETWORK,
        "flavors": {"small": SMALL, "large": LARGE},
        "images": {"ubuntu-24.04": IMAGE, "ubuntu-24.10": NEW_IMAGE},
    })
}
