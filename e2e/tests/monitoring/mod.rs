//! The alerts and dashboards of `deploy/`, their runbooks and the metrics that the process has agree. What
//! promtool and a real Prometheus find, `e2e alerts` tests.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

mod dashboards;
mod objects;
mod rules;
mod runbooks;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

const ALERTS: &str = "deploy/components/alerts";
const DASHBOARDS: &str = "deploy/components/dashboards";
const RUNBOOKS: &str = "docs/runbooks";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// The text of a file of the repository.
fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn yaml(path: &str) -> Value {
    serde_saphyr::from_str(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The files of a directory with this extension, by their path in the repository.
fn files(directory: &str, extension: &str) -> Vec<String> {
    let mut files: Vec<_> = fs::read_dir(repository().join(directory))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|it| it == extension))
        .map(|name| format!("{directory}/{name}"))
        .collect();
    files.sort();
    files
}

/// The rules that are alerts.
fn alerts() -> Vec<Value> {
    let rules = yaml(&format!("{ALERTS}/rules.yaml"));
    let groups = list(&rules["groups"]).iter().flat_map(|group| list(&group["rules"]));
    groups.filter(|rule| rule["alert"].is_string()).cloned().collect()
}

fn names(alerts: &[Value]) -> BTreeSet<String> {
    alerts.iter().map(|alert| text(&alert["alert"]).to_owned()).collect()
}

/// The metrics that docs/reference/metrics.md names; tests of the program compare that with what it
/// registers.
fn metrics() -> BTreeSet<String> {
    let document = read("docs/reference/metrics.md");
    let rows = document.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.split(" |").next());
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names
        .filter(|name| name.starts_with("fedhub_") || name.starts_with("process_"))
        .map(str::to_owned)
        .collect()
}

/// The words of a text that begin so, up to what no name of a series has.
fn words<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let words = text.split(move |c| !part(c)).map(|word| word.trim_end_matches(':'));
    words.filter(move |word| word.starts_with(start))
}

/// Series that no scrape has and no rule records, of a text.
fn unknown_series(of: &str) -> BTreeSet<String> {
    let metrics = metrics();
    let rules = yaml(&format!("{ALERTS}/rules.yaml"));
    let all = list(&rules["groups"]).iter().flat_map(|group| list(&group["rules"]));
    let recorded: BTreeSet<_> =
        all.map(|rule| text(&rule["record"])).filter(|name| !name.is_empty()).collect();
    let is_metric = |word: &str| {
        let parts = ["_bucket", "_sum", "_count"].iter().filter_map(|part| word.strip_suffix(part));
        metrics.contains(word) || parts.into_iter().any(|name| metrics.contains(name))
    };
    let series = words(of, "fedhub_").chain(words(of, "fedhub:")).chain(words(of, "process_"));
    series.filter(|word| !is_metric(word) && !recorded.contains(word)).map(str::to_owned).collect()
}

#[test]
fn a_series_that_does_not_exist_is_found() {
    assert!(metrics().len() >= 30, "{:?}", metrics());
    let known = "rate(fedhub_propagation_seconds_bucket[5m]) + fedhub_leader{job=\"x\"} + process_threads";
    assert_eq!(unknown_series(known), BTreeSet::new());
    let unknown = ["fedhub_leaders", "fedhub_leader_bucketx", "fedhub:nothing", "process_x"];
    assert_eq!(unknown_series(&unknown.join(" + ")), unknown.map(str::to_owned).into());
}
