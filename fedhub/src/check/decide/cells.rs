//! Decisions about the entries by which the hub's policies know the cells (I14).

use std::collections::{BTreeMap, BTreeSet};

use fedhub_core::names::CITY_CODE;
use fedhub_core::object::{Object, ObjectView};

use super::super::facts::{Facts, HubFacts};
use super::super::finding::{CheckId, Finding, Part, PlaneName, some};
use super::hub::unread;
use crate::cells::entries::{Entry, entries, recorded};
use crate::operator::read::Read;

const CHECK: CheckId = CheckId::CellIdentities;
const REMEDY: &str = "fedhub cells admit CLUSTER; for a cell that was rebuilt, renamed or taken away see Fence in docs/cells.md";

/// The entries by name; `None` for one that cannot be read.
type Entries = BTreeMap<String, Option<Entry>>;

/// Whether the hub knows its cells: each by its city and the UID of its `kube-system`.
pub fn decide(facts: &Facts, name: &PlaneName, hub: &HubFacts) -> Finding {
    let map = match &hub.cells {
        Read::Found(map) => map,
        Read::Failed(error) => return unread(CHECK, name, error),
        Read::Skipped => return Finding::skipped(CHECK, name, "not read", ""),
        Read::Absent => {
            let found = "no ConfigMap fedhub-cells in namespace fedhub-cells: no cell may write";
            return Finding::failed(
                CHECK,
                name,
                found,
                "kubectl apply -k deploy/components/hub-for-cells --server-side, on the hub",
            );
        }
    };
    let entries = entries(map);
    let mut faults: Vec<String> =
        own(facts, &entries).into_iter().chain(among_themselves(&entries)).collect();
    let mut unknown = Vec::new();
    if let Read::Found(clusters) = &hub.clusters {
        faults.extend(clusters.iter().flat_map(|cluster| differences(cluster, &entries)));
        let names: BTreeSet<&str> = clusters.iter().map(ObjectView::name).collect();
        let stray = entries.keys().filter(|cell| !names.contains(cell.as_str()));
        faults.extend(stray.map(|cell| format!("the entry of {cell} has no Cluster: remove it")));
        // Their fedhub may not be installed yet.
        let bare =
            clusters.iter().filter(|it| it.label(CITY_CODE).is_some() && !entries.contains_key(it.name()));
        unknown.extend(bare.map(|it| format!("no entry of Cluster {}: its cell may not write", it.name())));
    }
    if !faults.is_empty() {
        faults.append(&mut unknown);
        return Finding::failed(CHECK, name, some(&faults), REMEDY);
    }
    if !unknown.is_empty() {
        return Finding::warning(CHECK, name, some(&unknown), REMEDY);
    }
    Finding::ok(CHECK, name, "the entries of fedhub-cells agree with the Clusters")
}

/// What is wrong with the entry of the cell that the process is.
fn own(facts: &Facts, entries: &Entries) -> Option<String> {
    let own = facts.cell.as_ref()?;
    let Some(entry) = entries.get(&own.name) else {
        return Some(format!("no entry of this cell, {}", own.name));
    };
    let shown = facts.planes.iter().find(|plane| plane.name.part == Part::Cell);
    let uid = shown.and_then(|plane| plane.identities.first())?;
    let entered = entry.as_ref().map(|entry| &entry.uid).filter(|entered| *entered != uid)?;
    Some(format!("the entry of {} has the UID {entered}, and this cell's kube-system has {uid}", own.name))
}

/// Entries that cannot be read, and those that share a UID.
fn among_themselves(entries: &Entries) -> Vec<String> {
    let unreadable = entries.iter().filter(|(_, entry)| entry.is_none());
    let mut faults: Vec<String> =
        unreadable.map(|(cell, _)| format!("the entry of {cell} is not <city code>/<UID>")).collect();
    let mut holders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (cell, entry) in entries {
        if let Some(entry) = entry {
            holders.entry(&entry.uid).or_default().push(cell);
        }
    }
    let twins = holders.into_iter().filter(|(_, cells)| cells.len() > 1);
    faults.extend(twins.map(|(uid, cells)| {
        format!(
            "the entries of {} have one UID, {uid}: each may write the other's Instances",
            cells.join(" and ")
        )
    }));
    faults
}

/// What a Cluster says in place of its entry.
fn differences(cluster: &Object, entries: &Entries) -> Vec<String> {
    let name = cluster.name();
    let Some(Some(entry)) = entries.get(name) else { return Vec::new() };
    let city = cluster.label(CITY_CODE).filter(|city| *city != entry.city);
    let uid = recorded(cluster).filter(|uid| *uid != entry.uid);
    [
        city.map(|city| format!("the entry of Cluster {name} has the city {}, its label {city}", entry.city)),
        uid.map(|uid| format!("the entry of Cluster {name} has the UID {}, its spec.id {uid:?}", entry.uid)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
