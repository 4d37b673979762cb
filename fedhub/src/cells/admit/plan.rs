//! Whether a cell is entered, and as what (I14). Pure.
//!
//! What a cell says of itself decides nothing: it has to agree with what Karmada recorded when the cell was
//! joined.

use fedhub_core::names::{CITY_CODE, UID_RULE, is_label_value, is_object_name, is_uid};
use fedhub_core::object::{Object, ObjectView};

use super::super::entries::{Entry, entries, recorded};

/// What was read.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The name of the Cluster.
    pub cluster: &'a str,
    /// All Clusters of the hub.
    pub clusters: &'a [Object],
    /// The `ConfigMap` with the entries.
    pub map: &'a Object,
    /// The UID of `kube-system`, as the cell itself says.
    pub shown: &'a str,
}

/// How a cell is to be entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The entry.
    pub entry: Entry,
    /// What stands in its place; `None` where nothing does.
    pub former: Option<String>,
}

impl Admission {
    /// Whether the entry stands as it is to be.
    pub fn stands(&self) -> bool {
        self.former.as_ref() == Some(&self.entry.to_string())
    }
}

/// The name of a Cluster, which is also that of a `ServiceAccount`.
pub fn cluster_name(text: &str) -> Result<String, String> {
    if is_object_name(text) {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?} is not the name of a Cluster: {}", fedhub_core::names::OBJECT_NAME_RULE))
    }
}

/// The entry of a cell, or why it gets none.
pub fn admit(facts: Facts<'_>) -> Result<Admission, String> {
    let Facts { cluster: name, clusters, map, shown } = facts;
    let Some(cluster) = clusters.iter().find(|cluster| cluster.name() == name) else {
        return Err(format!("the hub has no Cluster {name}: join the cell to Karmada under that name first"));
    };
    if cluster.is_terminating() {
        return Err(format!("Cluster {name} is being removed from the hub"));
    }
    let city = cluster.label(CITY_CODE).unwrap_or_default();
    if !is_label_value(city) {
        return Err(format!("Cluster {name} has no city: label it {CITY_CODE}=<city code>"));
    }
    let Some(uid) = recorded(cluster) else {
        return Err(format!(
            "Cluster {name} has no spec.id, by which the cell could be known: join it by karmadactl, or, once whoever runs \
             the cell has confirmed the UID of its namespace kube-system, set that as spec.id"
        ));
    };
    if !is_uid(uid) {
        return Err(format!("spec.id of Cluster {name} is no UID ({UID_RULE}): correct it"));
    }
    if !is_uid(shown) {
        return Err(format!(
            "what answers as cell {name} shows no UID of its namespace kube-system ({UID_RULE}): find out what answers there"
        ));
    }
    if shown != uid {
        return Err(format!(
            "the cell's namespace kube-system has the UID {shown}, and Karmada recorded {uid} for Cluster {name}: name the \
             right cell; if it was rebuilt, unjoin it and join it again"
        ));
    }
    if let Some(twin) = clusters.iter().find(|other| other.name() != name && recorded(other) == Some(uid)) {
        return Err(format!("Cluster {} has the spec.id {uid} too: remove the wrong Cluster", twin.name()));
    }
    let entries = entries(map);
    let taken = entries
        .iter()
        .find(|(other, entry)| *other != name && entry.as_ref().is_some_and(|entry| entry.uid == uid));
    if let Some((other, _)) = taken {
        return Err(format!(
            "the entry of {other} has the UID {uid}, which would let each of the two write the other's Instances: if cell \
             {other} was renamed to {name}, remove its entry from ConfigMap fedhub-cells"
        ));
    }
    let former = map.data["data"][name].as_str().map(str::to_owned);
    Ok(Admission { entry: Entry { city: city.to_owned(), uid: uid.to_owned() }, former })
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{Kind, bare};
    use serde_json::{Value, json};

    use super::*;

    const UID: &str = "0d0c6a3e-9f2b-4c55-8a1e-000000000001";
    const OTHER: &str = "0d0c6a3e-9f2b-4c55-8a1e-000000000002";

    fn cluster(name: &str, city: Option<&str>, id: &Value) -> Object {
        let mut cluster = bare(Kind::Cluster, "", name);
        cluster.metadata.labels = city.map(|city| [(CITY_CODE.to_owned(), city.to_owned())].into());
        cluster.data = json!({"spec": {"id": id}});
        cluster
    }

    fn map(entries: &Value) -> Object {
        let mut map = bare(Kind::ConfigMap, "fedhub-cells", "fedhub-cells");
        map.data = json!({"data": entries});
        map
    }

    fn decided(
        cluster: Object,
        more: Option<Object>,
        entries: &Value,
        shown: &str,
    ) -> Result<Admission, String> {
        let clusters: Vec<_> = [cluster].into_iter().chain(more).collect();
        admit(Facts { cluster: "cell-dfw", clusters: &clusters, map: &map(entries), shown })
    }

    fn dfw() -> Object {
        cluster("cell-dfw", Some("DFW"), &json!(UID))
    }

    #[test]
    fn i14_a_cell_is_entered_by_what_the_hub_recorded() {
        for (entries, former, stands) in [
            (json!({}), None, false),
            (json!(null), None, false),
            (json!({"cell-dfw": format!("DFW/{UID}")}), Some(format!("DFW/{UID}")), true),
            (json!({"cell-dfw": format!("ORD/{UID}")}), Some(format!("ORD/{UID}")), false),
            (json!({"cell-dfw": format!("DFW/{OTHER}")}), Some(format!("DFW/{OTHER}")), false),
            (json!({"cell-ord": format!("ORD/{OTHER}")}), None, false),
            (json!({"cell-ord": "nonsense"}), None, false),
        ] {
            let admission = decided(dfw(), None, &entries, UID).unwrap();
            assert_eq!(admission.entry.to_string(), format!("DFW/{UID}"));
            assert_eq!((&admission.former, admission.stands()), (&former, stands), "{entries}");
        }
    }

    #[test]
    fn i14_a_cell_that_claims_what_the_hub_did_not_record_is_refused() {
        let injection = "\"},\"metadata\":{\"annotations\":{\"lost.federation.datumapis.com/x\":\"y";
        let none = json!({});
        let taken = json!({"cell-ord": format!("ORD/{UID}")});
        let mut leaving = dfw();
        leaving.metadata.deletion_timestamp = Some(jiff::Timestamp::UNIX_EPOCH.into());
        for (cluster, more, entries, shown, why) in [
            (dfw(), None, &none, OTHER, "Karmada recorded"),
            (dfw(), None, &none, injection, "shows no UID"),
            (dfw(), None, &none, "", "shows no UID"),
            (dfw(), None, &taken, UID, "the entry of cell-ord has the UID"),
            (
                dfw(),
                Some(cluster("cell-ord", None, &json!(UID))),
                &none,
                UID,
                "Cluster cell-ord has the spec.id",
            ),
            (cluster("cell-dfw", Some("DFW"), &json!(null)), None, &none, UID, "has no spec.id"),
            (cluster("cell-dfw", Some("DFW"), &json!("")), None, &none, UID, "has no spec.id"),
            (cluster("cell-dfw", Some("DFW"), &json!(injection)), None, &none, injection, "is no UID"),
            (cluster("cell-dfw", None, &json!(UID)), None, &none, UID, "has no city"),
            (cluster("cell-dfw", Some("D/F"), &json!(UID)), None, &none, UID, "has no city"),
            (cluster("cell-ord", Some("DFW"), &json!(UID)), None, &none, UID, "no Cluster cell-dfw"),
            (leaving, None, &none, UID, "is being removed"),
        ] {
            let refused = decided(cluster, more, entries, shown).unwrap_err();
            assert!(refused.contains(why) && !refused.contains('"'), "{why}: {refused}");
        }
        for name in ["", "a/b", "A", "a b", "-a", "a\"b"] {
            assert!(cluster_name(name).is_err(), "{name}");
        }
    }
}
