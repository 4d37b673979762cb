//! The dashboards are what Grafana takes, and name series that exist.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{DASHBOARDS, RUNBOOKS, files, list, read, text, unknown_series};

fn dashboards() -> Vec<(String, Value)> {
    let files = files(DASHBOARDS, "json");
    assert!(files.len() >= 4, "{files:?}");
    files
        .into_iter()
        .map(|path| {
            (serde_json::from_str(&read(&path)).unwrap_or_else(|error| panic!("{path}: {error}")), path)
        })
        .map(|(dashboard, path)| (path, dashboard))
        .collect()
}

#[test]
fn every_series_of_a_dashboard_exists() {
    for (path, dashboard) in dashboards() {
        for panel in list(&dashboard["panels"]) {
            for target in list(&panel["targets"]) {
                let expression = text(&target["expr"]);
                assert!(!expression.is_empty(), "{path}: {}", panel["title"]);
                assert_eq!(unknown_series(expression), BTreeSet::new(), "{path}: {}", panel["title"]);
            }
        }
        for variable in list(&dashboard["templating"]["list"]) {
            assert_eq!(unknown_series(text(&variable["definition"])), BTreeSet::new(), "{path}");
        }
    }
}

/// What Grafana needs of a dashboard that is provisioned from a file.
#[test]
fn every_dashboard_is_complete() {
    let mut uids = BTreeSet::new();
    for (path, dashboard) in dashboards() {
        assert!(uids.insert(text(&dashboard["uid"]).to_owned()), "{path}: its uid is taken");
        assert!(text(&dashboard["title"]).starts_with("fedhub: ") && dashboard["schemaVersion"].is_u64());
        let variables: BTreeSet<_> =
            list(&dashboard["templating"]["list"]).iter().map(|variable| text(&variable["name"])).collect();
        let panels = list(&dashboard["panels"]);
        assert!(!panels.is_empty() && panels.len() <= 12, "{path}: {}", panels.len());
        let mut ids = BTreeSet::new();
        let mut titles = BTreeSet::new();
        for panel in panels {
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{path}: {}", panel["id"]);
            assert!(titles.insert(text(&panel["title"])), "{path}: {}", panel["title"]);
            assert!(["stat", "timeseries"].contains(&text(&panel["type"])), "{path}: {}", panel["type"]);
            assert!(
                !text(&panel["fieldConfig"]["defaults"]["unit"]).is_empty(),
                "{path}: {}",
                panel["title"]
            );
            let references: BTreeSet<_> =
                list(&panel["targets"]).iter().map(|target| text(&target["refId"])).collect();
            assert_eq!(references.len(), list(&panel["targets"]).len(), "{path}: {}", panel["title"]);
            for target in list(&panel["targets"]) {
                assert_eq!(target["datasource"]["uid"], "${datasource}", "{path}: {}", panel["title"]);
                for used in text(&target["expr"]).split('$').skip(1) {
                    let name: String =
                        used.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                    let known = name == "__rate_interval" || variables.contains(&*name);
                    assert!(known, "{path}: ${name} is no variable");
                }
            }
        }
        assert!(variables.contains("datasource"), "{path}");
    }
}

#[test]
fn no_panel_covers_another() {
    for (path, dashboard) in dashboards() {
        let mut taken = BTreeSet::new();
        for panel in list(&dashboard["panels"]) {
            let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
            assert!(w > 0 && h > 0 && x + w <= 24, "{path}: {}", panel["title"]);
            for square in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
                assert!(taken.insert(square), "{path}: {} covers another", panel["title"]);
            }
        }
    }
}

#[test]
fn every_dashboard_is_listed() {
    let page = read(&format!("{RUNBOOKS}/README.md"));
    for path in files(DASHBOARDS, "json") {
        let name = path.rsplit('/').next().unwrap();
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
}
