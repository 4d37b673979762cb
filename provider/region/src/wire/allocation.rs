//! Allocations of quota.

use serde::{Deserialize, Serialize};

use crate::ids::Uuid;

/// The kind of what an allocation is for: it tells fedhub's from others', together with the Instance's UID.
pub const ALLOCATION_KIND: &str = "datum-instance";

/// An allocation to be made.
#[derive(Debug, Serialize)]
pub struct AllocationWrite<'a> {
    metadata: Name<'a>,
    spec: Spec<'a>,
}

#[derive(Debug, Serialize)]
struct Name<'a> {
    name: &'a str,
}

#[derive(Debug, Serialize)]
struct Spec<'a> {
    kind: &'static str,
    id: &'a str,
    allocations: Vec<Amount>,
}

#[derive(Debug, Serialize)]
struct Amount {
    kind: &'static str,
    committed: u32,
    reserved: u32,
}

impl<'a> AllocationWrite<'a> {
    /// What the server of an Instance takes: itself, its GPUs, and its address from outside.
    pub fn new(name: &'a str, instance: &'a str, gpus: u32, public_ip: bool) -> Self {
        let mut allocations = vec![Amount { kind: "servers", committed: 1, reserved: 0 }];
        if gpus > 0 {
            allocations.push(Amount { kind: "gpus", committed: gpus, reserved: 0 });
        }
        if public_ip {
            allocations.push(Amount { kind: "floatingips", committed: 1, reserved: 0 });
        }
        let spec = Spec { kind: ALLOCATION_KIND, id: instance, allocations };
        Self { metadata: Name { name }, spec }
    }
}

/// An allocation that stands.
#[derive(Debug, Deserialize)]
pub struct AllocationRead {
    metadata: Metadata,
    #[serde(default)]
    spec: Reference,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    /// An allocation without a UUID cannot be given back: it cannot be read.
    id: Uuid,
    #[serde(default)]
    project_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reference {
    kind: String,
    id: String,
}

impl AllocationRead {
    /// Its ID.
    pub fn id(&self) -> Uuid {
        self.metadata.id
    }

    /// Whether it is for the server of this Instance, in this project.
    pub fn is_for(&self, project: &str, instance: &str) -> bool {
        let Reference { kind, id } = &self.spec;
        kind == ALLOCATION_KIND && id == instance && self.metadata.project_id == project
    }
}
