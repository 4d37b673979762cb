//! The requests that the life of an Instance needs, next to those that were made.
//!
//! Necessary is what no program could leave out that keeps the same promises by the same API: a create
//! carries no status, for that is a subresource; a finalizer goes by a patch alone; a deletion by the garbage
//! collector costs nothing. What quota and networking add is counted apart. An Instance's network is its
//! WD's: it adds nothing but a gate, which opens with that of quota.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use crate::bench::stats::{number, rounded};

/// A plane that an Instance is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plane {
    /// Its cell.
    Cell,
    /// The hub, with its copy.
    Hub,
    /// Its project's plane, with its projection.
    Project,
}

impl fmt::Display for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cell => "cell",
            Self::Hub => "hub",
            Self::Project => "project",
        })
    }
}

/// A request of fedhub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// To whom.
    pub plane: Plane,
    /// As the audit log names it.
    pub verb: String,
    /// The plural, with `/` and the subresource where there is one.
    pub resource: String,
    /// Whether it was refused, as for a conflict. It counts all the same.
    pub refused: bool,
}

/// The features that the cells use for an Instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Features {
    /// No quota, and no networking.
    Off,
    /// Both.
    QuotaAndNetworking,
}

/// A kind of request in the life of an Instance.
struct Row {
    plane: Plane,
    verbs: &'static [&'static str],
    resource: &'static str,
    /// Without features.
    plain: u32,
    /// The requests that quota and networking add.
    added: u32,
    because: &'static str,
}

impl Row {
    /// Adds this many requests if quota and networking are on.
    const fn more(self, added: u32) -> Self {
        Self { added, ..self }
    }

    fn times(&self, features: Features) -> u32 {
        match features {
            Features::Off => self.plain,
            Features::QuotaAndNetworking => self.plain + self.added,
        }
    }

    fn is_for(&self, request: &Request) -> bool {
        self.plane == request.plane
            && self.resource == request.resource
            && self.verbs.contains(&request.verb.as_str())
    }
}

const fn row(
    plane: Plane,
    verbs: &'static [&'static str],
    resource: &'static str,
    plain: u32,
    because: &'static str,
) -> Row {
    Row { plane, verbs, resource, plain, added: 0, because }
}

/// The requests of a life that begins with a WD, is soon Ready, and ends with the WD.
const NECESSARY: [Row; 14] = [
    row(Plane::Cell, &["create"], "instances", 1, "it has to be created"),
    row(
        Plane::Cell,
        &["update"],
        "instances/status",
        1,
        "that it is Ready, and before its gates open, why (C6); stages that pass in a moment need not be reported",
    )
    .more(1),
    row(
        Plane::Cell,
        &["create", "patch"],
        "events",
        1,
        "its turn to Ready, for those who look at the cell",
    ),
    row(
        Plane::Cell,
        &["delete"],
        "instances",
        1,
        "its WD's finalizer waits for it; the garbage collector would come after that",
    ),
    row(Plane::Cell, &["patch"], "instances", 0, "its gates").more(1),
    row(Plane::Cell, &["get"], "instances", 0, "that it is gone, before its claim is deleted (C8)").more(1),
    row(Plane::Project, &["create"], "resourceclaims", 0, "its claim").more(1),
    row(Plane::Project, &["delete"], "resourceclaims", 0, "its claim, given back").more(1),
    row(Plane::Hub, &["create"], "instances", 1, "the copy"),
    row(Plane::Hub, &["update"], "instances/status", 1, "that it is Ready"),
    row(
        Plane::Hub,
        &["delete"],
        "instances",
        1,
        "the copy, where the garbage collector has not taken it with its WD before",
    ),
    row(Plane::Project, &["create"], "instances", 1, "the projection"),
    row(Plane::Project, &["update"], "instances/status", 1, "that it is Ready"),
    row(Plane::Project, &["delete"], "instances", 0, "with its WD the garbage collector takes it"),
];

/// How many requests an Instance's life needs.
pub fn necessary(features: Features) -> u32 {
    NECESSARY.iter().map(|row| row.times(features)).sum()
}

/// The requests for the Instances of WDs.
#[derive(Debug)]
pub struct Table {
    features: Features,
    instances: f64,
    deployments: f64,
    /// For each row: requests, and how many of them were refused.
    rows: [(usize, usize); NECESSARY.len()],
    /// The requests about Instances that have no row.
    others: BTreeMap<String, usize>,
    /// The requests about WDs.
    of_deployments: BTreeMap<String, usize>,
}

impl Table {
    /// Sorts requests into the table. Watches are left out.
    pub fn new(requests: &[Request], features: Features, instances: usize, deployments: usize) -> Self {
        let mut table = Self {
            features,
            instances: number(instances),
            deployments: number(deployments),
            rows: [(0, 0); NECESSARY.len()],
            others: BTreeMap::new(),
            of_deployments: BTreeMap::new(),
        };
        for request in requests.iter().filter(|request| request.verb != "watch") {
            let name = || format!("{} {} {}", request.plane, request.verb, request.resource);
            if let Some(at) = NECESSARY.iter().position(|row| row.is_for(request)) {
                table.rows[at].0 += 1;
                table.rows[at].1 += usize::from(request.refused);
            } else if of_instance(request) {
                *table.others.entry(name()).or_default() += 1;
            } else {
                *table.of_deployments.entry(name()).or_default() += 1;
            }
        }
        table
    }

    /// Requests for an Instance over its life.
    pub fn each(&self) -> f64 {
        let rows: usize = self.rows.iter().map(|(count, _)| count).sum();
        number(rows + self.others.values().sum::<usize>()) / self.instances
    }

    /// Returns the number of requests divided by the necessary ones.
    pub fn ratio(&self) -> f64 {
        self.each() / f64::from(necessary(self.features))
    }

    /// As a report has it: for an Instance, and apart from that for a WD.
    pub fn json(&self) -> Value {
        let rows = NECESSARY.iter().zip(self.rows).map(|(row, (count, refused))| {
            json!({
                "request": format!("{} {} {}", row.plane, row.verbs.join(" or "), row.resource),
                "necessary": row.times(self.features),
                "measured": rounded(number(count) / self.instances, 3),
                "refused": refused,
                "because": row.because,
            })
        });
        let each = |of: &BTreeMap<String, usize>, all: f64| -> BTreeMap<String, f64> {
            of.iter().map(|(name, count)| (name.clone(), rounded(number(*count) / all, 3))).collect()
        };
        json!({
            "per_instance": rounded(self.each(), 3),
            "necessary": necessary(self.features),
            "rows": rows.collect::<Vec<_>>(),
            "unnecessary_per_instance": each(&self.others, self.instances),
            "per_deployment": each(&self.of_deployments, self.deployments),
        })
    }
}

/// Whether a request is sent for each Instance. Events are recorded for Instances in a cell only.
fn of_instance(request: &Request) -> bool {
    let kind = request.resource.split('/').next().unwrap_or_default();
    matches!(kind, "instances" | "resourceclaims") || (kind == "events" && request.plane == Plane::Cell)
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "numbers that are exact")]
mod tests {
    use super::*;

    fn request(plane: Plane, verb: &str, resource: &str) -> Request {
        Request { plane, verb: verb.to_owned(), resource: resource.to_owned(), refused: false }
    }

    /// Returns exactly the requests that a life needs.
    fn life(features: Features) -> Vec<Request> {
        NECESSARY
            .iter()
            .flat_map(|row| {
                (0..row.times(features))
                    .map(|_| request(row.plane, row.verbs[0], row.resource))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn a_life_of_what_is_necessary_is_on_the_mark() {
        for (features, each) in [(Features::Off, 9.0), (Features::QuotaAndNetworking, 14.0)] {
            assert_eq!(life(features).len(), necessary(features) as usize);
            let two: Vec<_> = [life(features), life(features)].concat();
            let table = Table::new(&two, features, 2, 1);
            assert_eq!((table.each(), table.ratio()), (each, 1.0));
        }
    }

    #[test]
    fn every_other_request_counts_where_it_belongs() {
        let mut all = life(Features::Off);
        all.extend([
            request(Plane::Project, "delete", "instances"),
            request(Plane::Project, "get", "instances"),
            Request { refused: true, ..request(Plane::Cell, "update", "instances/status") },
            request(Plane::Hub, "get", "instances"),
            request(Plane::Cell, "update", "workloaddeployments/status"),
            request(Plane::Project, "create", "events"),
            request(Plane::Cell, "watch", "instances"),
        ]);
        let table = Table::new(&all, Features::Off, 1, 1);
        assert_eq!(table.each(), 13.0);
        let json = table.json();
        assert_eq!(
            json["unnecessary_per_instance"],
            json!({"hub get instances": 1.0, "project get instances": 1.0})
        );
        assert_eq!(
            json["per_deployment"],
            json!({"cell update workloaddeployments/status": 1.0, "project create events": 1.0})
        );
        let row =
            |name: &str| json["rows"].as_array().unwrap().iter().find(|r| r["request"] == name).cloned();
        let status = row("cell update instances/status").unwrap();
        assert_eq!((&status["measured"], &status["refused"]), (&json!(2.0), &json!(1)));
        assert_eq!(row("hub delete instances").unwrap()["measured"], 1.0);
    }

    #[test]
    fn no_request_has_two_rows() {
        for request in life(Features::QuotaAndNetworking) {
            let rows = NECESSARY.iter().filter(|row| row.is_for(&request));
            assert_eq!(rows.count(), 1, "{request:?}");
        }
    }
}
