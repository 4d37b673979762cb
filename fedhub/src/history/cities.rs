//! Which cells have written back since the hub was restored, as far as the hub shows it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_api::cells::{Declaration, declarations, declaring, is_city_lost};
use fedhub_api::facts::instance::deployment_name;
use fedhub_core::names::{CITY_CODE, INSTANCE_CITY};
use fedhub_core::object::{Object, ObjectRef, ObjectView};
use fedhub_planes::history::Remembered;
use fedhub_terminal::table::table;
use jiff::Timestamp;

/// The state of a city's cells since the restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A copy of one of its Instances was written since.
    WrittenBack,
    /// The city has copies, and all are as they were in the backup.
    NotWrittenBack,
    /// The city has WDs and no copies: no object shows whether their status has come since.
    WithoutCopies,
    /// Every cell of it is declared lost: it is not waited for.
    Lost,
}

impl State {
    fn words(self) -> &'static str {
        match self {
            Self::WrittenBack => "has written back",
            Self::NotWrittenBack => "has NOT written back: what it has beyond the backup counts as deleted",
            Self::WithoutCopies => "has no Instances on the hub: what it has counts as deleted",
            Self::Lost => "declared lost",
        }
    }
}

/// The objects of the hub, by city.
#[derive(Debug, Default)]
pub struct Cities {
    /// The cities of WDs, by namespace and name.
    deployments: BTreeMap<(String, String), String>,
    /// The newest version of a copy, by city.
    copies: BTreeMap<String, u64>,
}

impl Cities {
    /// A WD on the hub. All of them come before the first copy.
    pub fn deployment(&mut self, wd: &Object) {
        if let Some(city) = wd.label(CITY_CODE) {
            self.deployments.insert((wd.namespace().to_owned(), wd.name().to_owned()), city.to_owned());
        }
    }

    /// A copy of an Instance.
    pub fn copy(&mut self, copy: &Object) {
        let wd = deployment_name(copy).map(|name| (copy.namespace().to_owned(), name.to_owned()));
        let of_wd = wd.and_then(|wd| self.deployments.get(&wd)).map(String::as_str);
        let Some(city) = of_wd.or_else(|| copy.label(INSTANCE_CITY)) else { return };
        let newest = self.copies.entry(city.to_owned()).or_default();
        *newest = (*newest).max(copy.version().parse().unwrap_or_default());
    }

    fn state(&self, city: &str, remembered: &Remembered, clusters: &[ObjectRef]) -> State {
        let newest = self.copies.get(city);
        match (newest, remembered.restored_at) {
            _ if is_city_lost(clusters, city) => State::Lost,
            (None, Some(_)) => State::WithoutCopies,
            (Some(newest), Some(at)) if *newest <= at => State::NotWrittenBack,
            _ => State::WrittenBack,
        }
    }

    /// Describes what an operator has to know before the restore is accepted: a line for each city in use,
    /// and for each declaration that begins to count.
    pub fn describe(&self, remembered: &Remembered, clusters: &[ObjectRef], now: Timestamp) -> String {
        let used: BTreeSet<&String> = self.deployments.values().chain(self.copies.keys()).collect();
        let cells = |city: &str| {
            let serving = clusters.iter().filter(|cluster| cluster.label(CITY_CODE) == Some(city));
            serving.map(|cluster| cluster.name()).collect::<Vec<_>>().join(", ")
        };
        let counting: Vec<_> =
            clusters.iter().map(|cluster| declaring(cluster, now, |at| remembered.believes(at))).collect();
        let header = ["CITY", "CELLS", "SINCE THE RESTORE"].map(str::to_owned).to_vec();
        let mut parts = vec![if used.is_empty() {
            "no city is in use on the hub".to_owned()
        } else {
            table(
                &std::iter::once(header)
                    .chain(used.into_iter().map(|city| {
                        let state = self.state(city, remembered, &counting).words();
                        vec![city.clone(), cells(city), state.to_owned()]
                    }))
                    .collect::<Vec<_>>(),
            )
        }];
        let begins = clusters.iter().flat_map(|cluster| {
            let all = declarations(cluster).into_iter();
            let stale =
                all.filter(|(_, it)| matches!(it, Declaration::Lost(at) if !remembered.believes(*at)));
            stale.map(|(annotation, _)| vec![cluster.name().to_owned(), annotation.to_owned()])
        });
        let declared: Vec<_> = begins.collect();
        if !declared.is_empty() {
            let header = ["CLUSTER", "DECLARED LOST BEFORE THE RESTORE, WHICH COUNTS THEN"];
            let header = header.map(str::to_owned).to_vec();
            parts.push(table(&std::iter::once(header).chain(declared).collect::<Vec<_>>()));
        }
        parts.join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;

    fn object(value: Value) -> Object {
        serde_json::from_value(value).unwrap()
    }

    fn wd(name: &str, city: &str) -> Object {
        object(json!({"metadata": {"namespace": "ns-1", "name": name, "labels": {CITY_CODE: city}}}))
    }

    fn copy(wd: &str, version: &str) -> Object {
        let labels = json!({"compute.datumapis.com/workload-deployment-name": wd});
        let metadata = json!({"namespace": "ns-1", "name": format!("{wd}-0"), "labels": labels, "resourceVersion": version});
        object(json!({"metadata": metadata}))
    }

    fn cluster(name: &str, city: &str, lost: Option<&str>) -> ObjectRef {
        let annotations = json!({"federation.datumapis.com/lost": lost});
        let metadata = json!({
            "name": name, "labels": {CITY_CODE: city}, "annotations": lost.map(|_| annotations),
        });
        Arc::new(object(json!({"metadata": metadata})))
    }

    #[test]
    fn i4_who_accepts_a_restore_sees_which_cells_have_not_written_back() {
        let mut cities = Cities::default();
        for (name, city) in [("a", "DFW"), ("b", "ORD"), ("c", "SEA"), ("d", "LAX")] {
            cities.deployment(&wd(name, city));
        }
        for (name, version) in [("a", "90"), ("a", "101"), ("b", "100"), ("d", "7"), ("gone", "999")] {
            cities.copy(&copy(name, version));
        }
        let restore = "2026-02-01T00:00:00Z";
        let remembered = Remembered {
            highest: 200,
            restored_at: Some(100),
            last_restore: Some(restore.parse().unwrap()),
            accepted: None,
        };
        let clusters = [
            cluster("cell-dfw", "DFW", None),
            cluster("cell-ord", "ORD", Some("2026-01-01T00:00:00Z")),
            cluster("cell-lax", "LAX", Some("2026-03-01T00:00:00Z")),
        ];
        let text = cities.describe(&remembered, &clusters, "2026-04-01T00:00:00Z".parse().unwrap());
        for (line, state) in [
            ("DFW    cell-dfw   ", State::WrittenBack),
            ("ORD    cell-ord   ", State::NotWrittenBack),
            ("SEA    -          ", State::WithoutCopies),
            ("LAX    cell-lax   ", State::Lost),
        ] {
            assert!(text.lines().any(|it| it == format!("{line}{}", state.words())), "{line}: {text}");
        }
        // Of the two that are declared lost, one was before the restore.
        assert!(text.contains("cell-ord   federation.datumapis.com/lost"), "{text}");
        assert!(!text.contains("cell-lax   federation"), "{text}");
        let none = Cities::default().describe(&remembered, &[], Timestamp::UNIX_EPOCH);
        assert_eq!(none, "no city is in use on the hub");
    }
}
