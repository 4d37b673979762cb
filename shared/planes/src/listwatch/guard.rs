//! Objects of a watch that can be read, and the others (section 6): one that cannot is no reason to lose a
//! list.
//!
//! Decides I14.

use std::borrow::Cow;

use fedhub_core::errors;
use fedhub_core::names::{UID_RULE, is_path_segment, is_uid};
use fedhub_core::object::{Kind, Object, PlaneId, TooLarge, Unreadable, from_value, set_too_large};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::ApiResource;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::listwatch::object::{Cut, Extent};

/// An object, or the readable part of one that cannot be decoded. Unlike kube's `DeserializeGuard` it is also
/// one where the metadata is what cannot be read.
#[derive(Clone, Debug)]
pub struct Guarded(pub Result<Object, Unreadable>);

impl Guarded {
    /// The object that was cut out of an answer of `plane`. One that is over the limit can be read where its
    /// metadata and status are enough to answer it: those that tenants write.
    pub fn from_cut(cut: &Cut, kind: Kind, plane: &PlaneId) -> serde_json::Result<Self> {
        let Self(read) = serde_json::from_slice(&cut.text)?;
        let is_tenants = matches!(
            kind,
            Kind::Workload | Kind::WorkloadRollout | Kind::WorkloadDeployment | Kind::Instance
        );
        let answered = is_tenants && matches!(plane, PlaneId::Project(_));
        let too_large = TooLarge { size: cut.size, limit: limit_of(kind, plane) };
        Ok(Self(match (read, cut.extent) {
            (Ok(mut object), Extent::Whole) => {
                set_too_large(&mut object, None);
                Ok(object)
            }
            (Ok(mut object), Extent::Metadata) if answered => {
                set_too_large(&mut object, Some(too_large));
                Ok(object)
            }
            (Ok(object), _) => Err(Unreadable { metadata: object.metadata, error: too_large.to_string() }),
            (Err(unreadable), _) => Err(unreadable),
        }))
    }
}

impl<'de> Deserialize<'de> for Guarded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Self(match from_value(value) {
            Ok(object) => match fault(&object.metadata) {
                Some(error) => Err(Unreadable { metadata: object.metadata, error }),
                None => Ok(object),
            },
            Err((error, value)) => {
                let text = |field: &str| value["metadata"][field].as_str().map(str::to_owned);
                let metadata = ObjectMeta {
                    namespace: text("namespace"),
                    name: text("name"),
                    uid: text("uid"),
                    resource_version: text("resourceVersion"),
                    ..ObjectMeta::default()
                };
                Err(Unreadable { metadata, error: errors::json(&error) })
            }
        }))
    }
}

/// What is wrong with the names and the UID that a server gives an object, which become part of requests with
/// the hub's credentials, of marks and of names there (I14).
fn fault(metadata: &ObjectMeta) -> Option<String> {
    let names = [("name", &metadata.name), ("namespace", &metadata.namespace)];
    for (field, name) in names {
        if name.as_deref().is_some_and(|name| !name.is_empty() && !is_path_segment(name)) {
            return Some(format!("metadata.{field} can be no name"));
        }
    }
    let uid = metadata.uid.as_deref().filter(|uid| !uid.is_empty())?;
    (!is_uid(uid)).then(|| format!("metadata.uid is none: {UID_RULE}"))
}

/// How many bytes the metadata of an object may have, where nothing else is asked for: as much as a server
/// stores.
pub const METADATA: usize = 256 << 10;

/// How many bytes an object of that kind may have on that plane. Of a namespace nothing but its metadata is
/// of use.
pub fn limit_of(kind: Kind, plane: &PlaneId) -> usize {
    if kind == Kind::Namespace { METADATA } else { limit(plane) }
}

/// How many bytes an object of that plane may have. What is within the limit on a project plane is so on the
/// hub, with all that comes to it on its way.
pub fn limit(plane: &PlaneId) -> usize {
    const TENANTS: usize = 1 << 20;
    if let PlaneId::Project(_) = plane { TENANTS } else { 4 * TENANTS }
}

impl Resource for Guarded {
    type DynamicType = ApiResource;
    type Scope = kube::core::DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        match &self.0 {
            Ok(object) => &object.metadata,
            Err(unreadable) => &unreadable.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.0 {
            Ok(object) => &mut object.metadata,
            Err(unreadable) => &mut unreadable.metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn i14_an_object_whose_names_or_uid_would_be_more_than_that_in_a_request_is_not_read() {
        let fault_of = |field: &str, value: &str| {
            let mut object =
                json!({"metadata": {"name": "web", "namespace": "shop", "uid": "a-1"}, "spec": {}});
            object["metadata"][field] = json!(value);
            let Guarded(read) = serde_json::from_value(object).unwrap();
            read.err().map(|unreadable| unreadable.error)
        };
        let hostile = ["x/secrets/karmada-token?watch=1", "..", "a?b", "a%2fb", "a#b", "a b", "\u{1b}[2J"];
        for value in hostile {
            for field in ["name", "namespace", "uid"] {
                let fault = fault_of(field, value).unwrap();
                assert!(fault.contains(field), "{field} {value}: {fault}");
            }
        }
        assert!(fault_of("uid", &"a".repeat(64)).is_some() && fault_of("name", &"a".repeat(254)).is_some());
        for (field, value) in [("uid", "0d0c6a3e-9f2b-4c55-8a1e-000000000001"), ("uid", ""), ("name", "a.b")]
        {
            assert_eq!(fault_of(field, value), None, "{field} {value}");
        }
    }

    #[test]
    fn i1_what_can_be_read_is_whole_and_what_cannot_still_has_its_name() {
        let fine =
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}, "spec": {"x": [1]}, "odd": 1});
        let Guarded(read) = serde_json::from_value(fine.clone()).unwrap();
        assert_eq!(serde_json::to_value(read.unwrap()).unwrap(), fine);
        for broken in [
            json!({"metadata": {"name": "a", "namespace": "n", "creationTimestamp": "yesterday"}}),
            json!({"metadata": {"name": "a", "namespace": "n", "labels": [1]}}),
        ] {
            let Guarded(read) = serde_json::from_value(broken).unwrap();
            let unreadable = read.unwrap_err();
            assert_eq!(unreadable.metadata.name.as_deref(), Some("a"));
            assert!(!unreadable.error.is_empty());
        }
        let Guarded(read) = serde_json::from_value(json!({"metadata": "none"})).unwrap();
        assert!(read.unwrap_err().metadata.name.is_none());
    }
}
