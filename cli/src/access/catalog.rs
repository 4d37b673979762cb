//! Compute in the platform's catalogue. Pure.

use fedhub_core::names::{SERVICE_NAME, SERVICE_OBJECTS};
use kube::ResourceExt;
use kube::core::DynamicObject;

/// How compute is enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Everybody who asks gets access.
    SelfService,
    /// The provider has to approve.
    Gated,
    /// The catalogue may not be read: as if approval were needed.
    Unknown,
    /// Access is not offered.
    Unavailable,
}

/// The access that can be requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Name of the service in the catalogue, which the request refers to.
    pub name: String,
    /// How it is enabled.
    pub mode: Mode,
}

impl Offer {
    /// Reads the offer of a catalogue; `None` stands for a catalogue that may not be read.
    pub fn from_services(services: Option<&[DynamicObject]>) -> Self {
        let usual = SERVICE_OBJECTS.last().copied().unwrap_or_default().to_owned();
        let Some(services) = services else { return Self { name: usual, mode: Mode::Unknown } };
        let ours = services.iter().find(|service| service.data["spec"]["serviceName"] == SERVICE_NAME.1);
        let Some(service) = ours else { return Self { name: usual, mode: Mode::Unavailable } };
        let spec = &service.data["spec"];
        let mode = match (spec["phase"].as_str(), spec["enablementPolicy"]["mode"].as_str()) {
            (Some("Published"), Some("GatedByProvider")) => Mode::Gated,
            (Some("Published"), _) => Mode::SelfService,
            _ => Mode::Unavailable,
        };
        Self { name: service.name_any(), mode }
    }
}
