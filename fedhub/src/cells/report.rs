//! The report of `fedhub cells`: a table, JSON or YAML. Pure.

use std::collections::BTreeMap;

use fedhub_api::cells::{CellDown, CellSource, Declaration, cluster_of, declaring, lost_by};
use fedhub_api::conditions::is_true;
use fedhub_core::names::{CITY_CODE, INSTANCE_CITY, SOURCE_CLUSTER, lost_cluster};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, bare};
use jiff::Timestamp;
use serde_json::{Value, json};

use fedhub_terminal::report::{Field, Look, Report, Row, list_of, table_of};

/// The state of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// Karmada does not reach it, since then.
    NotReady(String),
    /// An operator declared it lost, since then.
    Lost(String),
    /// Karmada has not reported on it yet.
    Unknown,
    /// It left marks, and the hub has no Cluster for it.
    NoCluster,
}

impl State {
    fn from_cluster(cluster: &Object) -> Self {
        match CellDown::from_cluster(cluster) {
            Some(CellDown { since, lost: true, .. }) => Self::Lost(since),
            Some(CellDown { since, lost: false, .. }) => Self::NotReady(since),
            None if is_true(cluster.status(), "Ready") => Self::Ready,
            None => Self::Unknown,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::NotReady(_) => "NotReady",
            Self::Lost(_) => "Lost",
            Self::Unknown => "Unknown",
            Self::NoCluster => "NoCluster",
        }
    }

    fn since(&self) -> Option<&str> {
        match self {
            Self::NotReady(since) | Self::Lost(since) => Some(since),
            Self::Ready | Self::Unknown | Self::NoCluster => None,
        }
    }
}

/// A cell and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    name: String,
    city: String,
    state: State,
    deployments: usize,
    instances: usize,
    /// `None` where no project plane was asked.
    claims: Option<usize>,
    /// UIDs of the `kube-system` of the clusters that left marks as this cell.
    clusters: Vec<String>,
    /// Why the declaration that it is lost does not count.
    refusal: Option<String>,
}

/// The cell that an object belongs to, as far as the object shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    /// A mark with the name and UID of the cell.
    Marked(String, Option<String>),
    /// Without a mark, by the code of the city.
    City(String),
}

/// What was counted.
#[derive(Debug, Default)]
pub struct Counts {
    /// WDs on the hub, by city.
    deployments: BTreeMap<String, usize>,
    instances: BTreeMap<Holder, usize>,
    claims: Option<BTreeMap<Holder, usize>>,
}

impl Counts {
    /// A WD on the hub.
    pub fn deployment(&mut self, deployment: &Object) {
        *self.deployments.entry(deployment.label(CITY_CODE).unwrap_or_default().to_owned()).or_default() += 1;
    }

    /// A copy on the hub.
    pub fn instance(&mut self, copy: &Object) {
        let holder = CellSource::from_object(copy).map_or_else(
            || Holder::City(copy.label(INSTANCE_CITY).unwrap_or_default().to_owned()),
            |source| Holder::Marked(source.cell, source.cell_uid),
        );
        *self.instances.entry(holder).or_default() += 1;
    }

    /// Claims are counted, although there may be none.
    pub fn with_claims(&mut self) {
        self.claims.get_or_insert(BTreeMap::new());
    }

    /// A quota claim in a project plane.
    pub fn claim(&mut self, claim: &Object) {
        let holder = CellSource::from_object(claim).map_or_else(
            || Holder::Marked(claim.label(SOURCE_CLUSTER).unwrap_or_default().to_owned(), None),
            |source| Holder::Marked(source.cell, source.cell_uid),
        );
        *self.claims.get_or_insert_default().entry(holder).or_default() += 1;
    }
}

/// All cells, by name.
#[derive(Debug)]
pub struct Cells(Vec<Cell>);

impl Cells {
    /// Creates the report on these Clusters.
    pub fn new(all: &[ObjectRef], counts: &Counts, now: Timestamp) -> Self {
        // With those declarations alone that fedhub believes.
        let clusters: Vec<_> = all.iter().map(|cluster| declaring(cluster, now, |_| true)).collect();
        let clusters = &clusters[..];
        let refusals: BTreeMap<_, _> = all
            .iter()
            .filter_map(|cluster| Some((cluster.name(), Declaration::refusal(cluster, now)?)))
            .collect();
        let known = |cluster: &Object| Cell {
            name: cluster.name().to_owned(),
            city: cluster.label(CITY_CODE).unwrap_or_default().to_owned(),
            state: State::from_cluster(cluster),
            deployments: 0,
            instances: 0,
            claims: counts.claims.as_ref().map(|_| 0),
            clusters: Vec::new(),
            refusal: refusals.get(cluster.name()).cloned(),
        };
        let no_claims = BTreeMap::new();
        // What no Cluster stands for comes last: each name and UID is a cell of its own.
        let of_cluster = |cluster: &Object| (false, cluster.name().to_owned(), None);
        let mut cells: BTreeMap<(bool, String, Option<&str>), Cell> =
            clusters.iter().map(|cluster| (of_cluster(cluster), known(cluster))).collect();
        let serving = |city: &str| clusters.iter().find(|cluster| cluster.label(CITY_CODE) == Some(city));
        for (city, count) in &counts.deployments {
            if let Some(cell) = serving(city).and_then(|c| cells.get_mut(&of_cluster(c))) {
                cell.deployments += count;
            }
        }
        let claims = counts.claims.as_ref().unwrap_or(&no_claims);
        for (holders, are_claims) in [(&counts.instances, false), (claims, true)] {
            for (holder, count) in holders {
                let (cluster, name, uid) = match holder {
                    Holder::Marked(name, uid) => {
                        (cluster_of(clusters, name, uid.as_deref()), name.as_str(), uid.as_deref())
                    }
                    Holder::City(city) => (serving(city), "", None),
                };
                let key = cluster.map_or_else(|| (true, name.to_owned(), uid), |cluster| of_cluster(cluster));
                let lost = || lost_by(clusters, name, uid).map(|(_, since)| State::Lost(since.to_string()));
                let cell = cells.entry(key).or_insert_with(|| Cell {
                    state: lost().unwrap_or(State::NoCluster),
                    refusal: None,
                    ..known(&bare(Kind::Cluster, "", name))
                });
                match &mut cell.claims {
                    Some(claims) if are_claims => *claims += count,
                    _ => cell.instances += count,
                }
                if let Holder::Marked(_, Some(uid)) = holder
                    && !cell.clusters.contains(uid)
                {
                    cell.clusters.push(uid.clone());
                }
            }
        }
        Self(cells.into_values().collect())
    }

    /// Whether every cell is Ready, and there is nothing to see to.
    pub fn is_in_order(&self) -> bool {
        self.0.iter().all(|cell| cell.state == State::Ready && cell.notes().next().is_none())
    }
}

impl Cell {
    /// What needs the attention of an operator.
    fn notes(&self) -> impl Iterator<Item = String> {
        let several = (self.clusters.len() > 1).then(|| {
            format!(
                "{} clusters left marks as this cell, by the UIDs of their kube-system: {}",
                self.clusters.len(),
                self.clusters.join(", ")
            )
        });
        let gone = self.clusters.first().filter(|_| self.state == State::NoCluster).map(|uid| {
            format!(
                "left by the cluster whose kube-system has the UID {uid}, which has no Cluster on the hub; if it is gone for \
                 good, annotate any Cluster with {}=<RFC 3339 time>",
                lost_cluster(uid)
            )
        });
        self.refusal.clone().into_iter().chain(several).chain(gone)
    }
}

impl Row for Cell {
    const FIELDS: &'static [Field<Self>] = &[
        Field::new("name", "CELL", |cell| json!(cell.name)),
        Field::new("city", "CITY", |cell| json!(cell.city)),
        Field::named("state", |cell| json!(cell.state.name())),
        Field::named("since", |cell| json!(cell.state.since())),
        Field::column("STATE", |cell| match cell.state.since() {
            Some(since) => json!(format!("{} since {since}", cell.state.name())),
            None => json!(cell.state.name()),
        }),
        Field::new("workloadDeployments", "WDS", |cell| json!(cell.deployments)),
        Field::new("instances", "INSTANCES", |cell| json!(cell.instances)),
        Field::new("claims", "CLAIMS", |cell| json!(cell.claims)),
        Field::named("clusters", |cell| json!(cell.clusters)),
        Field::named("notes", |cell| cell.notes().collect()),
    ];
}

impl Report for Cells {
    fn text(&self, look: Look) -> String {
        let notes =
            self.0.iter().flat_map(|cell| cell.notes().map(move |note| format!("{}: {note}", cell.name)));
        std::iter::once(table_of(&self.0, look)).chain(notes).collect::<Vec<_>>().join("\n")
    }

    fn json(&self) -> Value {
        json!({ "cells": list_of(&self.0) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fedhub_core::names::{CELL_SOURCE, LOST};
    use fedhub_core::object::set_field;

    use super::*;

    fn cluster(name: &str, city: &str, ready: Option<&str>, lost: Option<&str>) -> ObjectRef {
        let mut cluster = bare(Kind::Cluster, "", name);
        cluster.metadata.labels = Some([(CITY_CODE.to_owned(), city.to_owned())].into());
        cluster.metadata.annotations = lost.map(|at| [(LOST.to_owned(), at.to_owned())].into());
        set_field(&mut cluster, "spec", json!({"id": format!("uid-of-{name}")}));
        let ready = ready.map(|status| {
            json!({"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2026-01-02T00:00:00Z"}]})
        });
        set_field(&mut cluster, "status", ready.unwrap_or_default());
        Arc::new(cluster)
    }

    fn now() -> Timestamp {
        "2026-02-01T00:00:00Z".parse().unwrap()
    }

    fn labelled(kind: Kind, label: (&str, &str), mark: Option<&str>) -> Object {
        let mut object = bare(kind, "ns", "x");
        object.metadata.labels = Some([(label.0.to_owned(), label.1.to_owned())].into());
        object.metadata.annotations = mark.map(|mark| [(CELL_SOURCE.to_owned(), mark.to_owned())].into());
        object
    }

    fn counts() -> Counts {
        let mut counts = Counts::default();
        for city in ["DFW", "DFW", "ORD", "NOWHERE"] {
            counts.deployment(&labelled(Kind::WorkloadDeployment, (CITY_CODE, city), None));
        }
        for mark in [Some("dfw/uid-of-cell-dfw/1"), Some("dfw/uid-of-cell-dfw/2"), Some("cell-dfw/3"), None] {
            counts.instance(&labelled(Kind::Instance, (INSTANCE_CITY, "DFW"), mark));
        }
        counts.instance(&labelled(Kind::Instance, (INSTANCE_CITY, "LAX"), Some("gone/uid-of-gone/1")));
        counts
    }

    #[test]
    fn the_report_reads_well() {
        let clusters = [
            cluster("cell-dfw", "DFW", Some("True"), None),
            cluster("cell-lost", "LAX", Some("False"), Some("2026-01-03T00:00:00Z")),
            cluster("cell-new", "SEA", None, Some("soon")),
            cluster("cell-ord", "ORD", Some("Unknown"), None),
        ];
        let report = Cells::new(&clusters, &counts(), now());
        let outputs = [("table", report.text(Look::default())), ("JSON", format!("{:#}", report.json()))];
        fedhub_testing::assert_messages!(
            "cells",
            fedhub_testing::Messages::default().section("fedhub cells", outputs)
        );
    }

    #[test]
    fn c11_cells_are_told_with_state_and_what_they_hold() {
        let clusters = [
            cluster("cell-ord", "ORD", Some("Unknown"), None),
            cluster("cell-dfw", "DFW", Some("True"), None),
            cluster("cell-lost", "LAX", Some("False"), Some("2026-01-03T00:00:00Z")),
            cluster("cell-new", "SEA", None, Some("soon")),
        ];
        let report = Cells::new(&clusters, &counts(), now());
        let lines: Vec<String> = report.text(Look::default()).lines().map(str::to_owned).collect();
        let expected = [
            "CELL        CITY   STATE                                 WDS   INSTANCES   CLAIMS",
            "cell-dfw    DFW    Ready                                 2     4           -",
            "cell-lost   LAX    Lost since 2026-01-03T00:00:00Z       0     0           -",
            "cell-new    SEA    Unknown                               0     0           -",
            "cell-ord    ORD    NotReady since 2026-01-02T00:00:00Z   1     0           -",
            "gone        -      NoCluster                             0     1           -",
        ];
        assert_eq!(lines[..6], expected);
        assert!(lines[6].starts_with("cell-new: ") && lines[6].contains("RFC 3339"), "{}", lines[6]);
        assert!(!report.is_in_order());
        let cells = report.json();
        assert_eq!(cells["cells"][1]["state"], "Lost");
        assert_eq!(cells["cells"][1]["since"], "2026-01-03T00:00:00Z");
        assert_eq!(cells["cells"][0]["instances"], 4);
        assert_eq!(cells["cells"][0]["claims"], Value::Null);
    }

    #[test]
    fn c10_two_clusters_under_one_name_are_told_of_and_claims_are_counted_where_a_project_was_asked() {
        let clusters = [cluster("cell-dfw", "DFW", Some("True"), None)];
        let mut counts = Counts { claims: Some(BTreeMap::new()), ..Counts::default() };
        assert!(Cells::new(&clusters, &counts, now()).is_in_order());
        for mark in [Some("cell-dfw/uid-of-cell-dfw/1"), None] {
            counts.claim(&labelled(Kind::ResourceClaim, (SOURCE_CLUSTER, "cell-dfw"), mark));
        }
        let report = Cells::new(&clusters, &counts, now());
        assert_eq!((report.0[0].claims, report.0[0].instances), (Some(2), 0));
        assert!(report.is_in_order());
        counts.instance(&labelled(Kind::Instance, (INSTANCE_CITY, "DFW"), Some("cell-dfw/twin/1")));
        // Karmada recorded another cluster for the name: it is a cell of its own, and lost by its UID.
        let report = Cells::new(&clusters, &counts, now());
        assert!(!report.is_in_order());
        assert_eq!((report.0.len(), report.0[0].instances), (2, 0));
        assert_eq!((&report.0[1].state, report.0[1].instances), (&State::NoCluster, 1));
        assert!(
            report.text(Look::default()).contains(&lost_cluster("twin")),
            "{}",
            report.text(Look::default())
        );
        let declare = |uid: &str| {
            let mut cluster = Object::clone(&clusters[0]);
            let at = "2026-01-03T00:00:00Z".to_owned();
            cluster.metadata.annotations = Some([(lost_cluster(uid), at)].into());
            Cells::new(&[Arc::new(cluster)], &counts, now())
        };
        assert_eq!(declare("twin").0[1].state, State::Lost("2026-01-03T00:00:00Z".to_owned()));
        assert_eq!(declare("other").0[1].state, State::NoCluster);
        // Where it recorded none, both go by the name.
        let mut unrecorded = Object::clone(&clusters[0]);
        set_field(&mut unrecorded, "spec", json!({}));
        let report = Cells::new(&[Arc::new(unrecorded)], &counts, now());
        assert!(report.text(Look::default()).contains("2 clusters left marks") && !report.is_in_order());
    }
}
