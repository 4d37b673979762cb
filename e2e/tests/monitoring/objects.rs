//! The objects beside the rules and the dashboards hold exactly these.

use std::fmt::Write;

use super::{ALERTS, DASHBOARDS, files, read, repository, yaml};

fn indented(text: &str, by: usize) -> String {
    text.lines().fold(String::new(), |mut all, line| {
        let by = if line.is_empty() { 0 } else { by };
        let _ = writeln!(all, "{:by$}{line}", "");
        all
    })
}

const GENERATED: &str = "# Written by `make rules` from what is beside it.\n";

/// A `ConfigMap` with these files.
fn config_map(name: &str, labels: &str, paths: &[String]) -> String {
    let mut object = format!(
        "{GENERATED}apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: fedhub-system\n  labels:\n    \
         app.kubernetes.io/name: fedhub\n{labels}data:\n"
    );
    for path in paths {
        let key = if path.ends_with("/rules.yaml") {
            "fedhub.rules.yaml"
        } else {
            path.rsplit('/').next().unwrap()
        };
        let _ = write!(object, "  {key}: |\n{}", indented(&read(path), 4));
    }
    object
}

fn prometheus_rule() -> String {
    format!(
        "{GENERATED}apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: fedhub\n  namespace: \
         fedhub-system\n  labels:\n    app.kubernetes.io/name: fedhub\nspec:\n{}",
        indented(&read(&format!("{ALERTS}/rules.yaml")), 2)
    )
}

/// `UPDATE_RULES=1` writes them.
#[test]
fn the_objects_are_those_of_the_rules_and_the_dashboards() {
    let rules = [format!("{ALERTS}/rules.yaml")];
    let grafana = "    grafana_dashboard: \"1\"\n";
    let objects = [
        (format!("{ALERTS}/config-map/config-map.yaml"), config_map("fedhub-alerts", "", &rules)),
        (format!("{ALERTS}/prometheus-rule/prometheus-rule.yaml"), prometheus_rule()),
        (
            format!("{DASHBOARDS}/config-map.yaml"),
            config_map("fedhub-dashboards", grafana, &files(DASHBOARDS, "json")),
        ),
    ];
    for (path, object) in objects {
        if std::env::var_os("UPDATE_RULES").is_some() {
            std::fs::write(repository().join(&path), &object).unwrap();
        }
        assert!(read(&path) == object, "{path} is not up to date: run `make rules`");
    }
}

#[test]
fn what_an_object_holds_is_what_was_put_in() {
    let rules = yaml(&format!("{ALERTS}/rules.yaml"));
    let config_map = yaml(&format!("{ALERTS}/config-map/config-map.yaml"));
    let held = config_map["data"]["fedhub.rules.yaml"].as_str().unwrap();
    assert_eq!(held, read(&format!("{ALERTS}/rules.yaml")));
    let rule = yaml(&format!("{ALERTS}/prometheus-rule/prometheus-rule.yaml"));
    assert_eq!(rule["spec"], rules);
    let dashboards = yaml(&format!("{DASHBOARDS}/config-map.yaml"));
    for path in files(DASHBOARDS, "json") {
        let key = path.rsplit('/').next().unwrap();
        assert_eq!(dashboards["data"][key].as_str().unwrap(), read(&path), "{path}");
    }
}
