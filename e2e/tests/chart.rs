//! The values of `deploy/chart`: each is explained, typed and used, and templates use no other. What Helm
//! makes of them is compared with the overlays by `e2e chart`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

fn chart(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../deploy/chart").join(path)
}

fn read(path: &str) -> String {
    fs::read_to_string(chart(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The names of the templates, each with its text.
fn templates() -> Vec<(String, String)> {
    let files = fs::read_dir(chart("templates")).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect()
}

/// The paths of a document's scalars and lists, and of maps that are empty.
fn paths(value: &Value, path: &str) -> BTreeSet<String> {
    match value.as_object().filter(|fields| !fields.is_empty()) {
        Some(fields) => {
            fields.iter().flat_map(|(name, value)| paths(value, &format!("{path}.{name}"))).collect()
        }
        None => BTreeSet::from([path.to_owned()]),
    }
}

#[test]
fn the_chart_is_of_this_version() {
    let text = read("Chart.yaml");
    assert!(text.contains(&format!("\nversion: {}\n", env!("CARGO_PKG_VERSION"))));
    assert!(text.contains(&format!("\nappVersion: v{}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn every_value_is_used_and_in_the_schema() {
    let values: Value = serde_saphyr::from_str(&read("values.yaml")).unwrap();
    let schema: Value = serde_json::from_str(&read("values.schema.json")).unwrap();
    let templates: String = templates().into_iter().map(|(_, text)| text).collect();
    let known = paths(&values, "");
    assert!(known.len() > 20, "{known:?}");
    for path in &known {
        // `resources` is used as a whole.
        let path = if path.starts_with(".resources.") { ".resources" } else { path };
        let used =
            templates.contains(&format!(".Values{path} ")) || templates.contains(&format!(".Values{path})"));
        assert!(used, "no template has .Values{path}");
        let described = path.split('.').skip(1).try_fold(&schema, |at, name| at["properties"].get(name));
        assert!(described.is_some_and(|of| of["type"].is_string()), "values.schema.json has no {path}");
    }
    for found in templates.split(".Values").skip(1) {
        let end = found.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap();
        let path = &found[..end];
        assert!(known.iter().any(|known| known.starts_with(path)), "values.yaml has no {path}");
    }
}

#[test]
fn every_value_is_explained_above_it() {
    let text = read("values.yaml");
    let lines: Vec<_> = text.lines().collect();
    for pair in lines.windows(2) {
        let is_value = !(pair[1].is_empty() || pair[1].starts_with([' ', '#']));
        assert!(!is_value || pair[0].starts_with('#'), "{} is not explained", pair[1]);
    }
}

/// A role without a template would be a release of nothing.
#[test]
fn every_role_has_a_template_of_its_own() {
    let schema: Value = serde_json::from_str(&read("values.schema.json")).unwrap();
    let roles = schema["properties"]["role"]["enum"].as_array().unwrap();
    let roles: BTreeSet<_> = roles.iter().map(|role| role.as_str().unwrap().to_owned()).collect();
    for (name, text) in templates() {
        let guard = format!("\n{{{{- if eq .Values.role \"{name}\" }}}}\n");
        assert!(text.contains(&guard), "{name}.yaml is not of its role alone");
    }
    assert_eq!(roles, templates().into_iter().map(|(name, _)| name).collect());
}
