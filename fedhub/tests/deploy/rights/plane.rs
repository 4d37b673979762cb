//! Who asks, and what a plane grants after `deploy/` is applied to it.

use fedhub_planes::watched::Watched;
use serde_json::Value;

use crate::deploy::{FEATURES, kustomize::overlay, strings};

pub const COMPUTE: &str = "compute.datumapis.com";
pub const NETWORKING: &str = "networking.datumapis.com";
pub const QUOTA: &str = "quota.miloapis.com";
/// The service accounts of the cells on the hub.
const CELLS: &str = "system:serviceaccounts:fedhub-cells";

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub enum Who {
    /// The management role's service account.
    Management,
    /// The cell role's.
    Cell,
    /// A user of a Milo.
    User(&'static str),
}

impl Who {
    pub fn is(self, subject: &Value) -> bool {
        match self {
            Self::Management => account(subject, "fedhub-system", "fedhub"),
            // On the hub every cell has an account of its own in that namespace.
            Self::Cell => account(subject, "fedhub-cells", "fedhub-cell") || is_cells_on_hub(subject),
            Self::User(name) => subject["kind"] == "User" && subject["name"] == name,
        }
    }

    /// Its own namespace.
    pub fn namespace(self) -> &'static str {
        match self {
            Self::Management | Self::User(_) => "fedhub-system",
            Self::Cell => "fedhub-cells",
        }
    }
}

fn is_cells_on_hub(subject: &Value) -> bool {
    subject["kind"] == "Group" && subject["name"] == CELLS
}

fn account(subject: &Value, namespace: &str, name: &str) -> bool {
    subject["kind"] == "ServiceAccount" && subject["namespace"] == namespace && subject["name"] == name
}

/// What is applied to one plane.
pub struct Plane {
    pub name: &'static str,
    pub objects: Vec<Value>,
}

impl Plane {
    pub fn new(name: &'static str, applied: &[&str]) -> Self {
        Self { name, objects: applied.iter().flat_map(|directory| overlay(directory, &[])).collect() }
    }

    /// The rules that bind to `who`, those of a Role only in its namespace.
    pub fn rules(&self, who: Who, namespace: Option<&str>) -> Vec<&Value> {
        let named = |kind: &Value, namespace: &Value, name: &Value| {
            let is = |object: &&Value| {
                let metadata = &object["metadata"];
                object["kind"] == *kind && metadata["name"] == *name && metadata["namespace"] == *namespace
            };
            let found = self.objects.iter().find(is);
            found.unwrap_or_else(|| panic!("{}: a binding to {kind} {name}, which is not there", self.name))
        };
        let mut rules = Vec::new();
        for binding in &self.objects {
            let within = &binding["metadata"]["namespace"];
            let counts = match binding["kind"].as_str() {
                Some("ClusterRoleBinding") => true,
                Some("RoleBinding") => within.as_str() == namespace,
                _ => false,
            };
            let subjects = binding["subjects"].as_array().into_iter().flatten();
            if counts && subjects.into_iter().any(|subject| who.is(subject)) {
                let of = &binding["roleRef"];
                let nowhere = Value::Null;
                let space = if of["kind"] == "Role" { within } else { &nowhere };
                let role = named(&of["kind"], space, &of["name"]);
                rules.extend(role["rules"].as_array().unwrap());
            }
        }
        rules
    }

    pub fn allows(&self, who: Who, namespace: Option<&str>, group: &str, resource: &str, verb: &str) -> bool {
        self.rules(who, namespace).iter().any(|rule| {
            strings(&rule["apiGroups"]).contains(&group)
                && strings(&rule["resources"]).contains(&resource)
                && strings(&rule["verbs"]).contains(&verb)
        })
    }

    pub fn needs(&self, who: Who, namespace: Option<&str>, group: &str, resources: &str, verbs: &str) {
        for resource in resources.split(' ') {
            for verb in verbs.split(' ') {
                let allowed = self.allows(who, namespace, group, resource, verb);
                assert!(allowed, "{who:?} may not {verb} {resource} {group:?} on {}", self.name);
            }
        }
    }

    pub fn watches(&self, who: Who, kinds: &[Watched]) {
        for watched in kinds {
            let of = watched.kind.resource();
            self.needs(who, None, &of.group, &of.plural, "list watch");
        }
    }
}

pub fn management() -> Plane {
    Plane::new("the management plane", &["base", "components/management-for-cells"])
}

pub fn hub() -> Plane {
    Plane::new("the hub", &["components/hub", "components/hub-for-cells"])
}

pub fn project() -> Plane {
    Plane::new("a project plane", &["components/project-plane", "components/project-plane-for-cells"])
}

pub fn cell() -> Plane {
    Plane { name: "the cell", objects: overlay("cell", &FEATURES) }
}
