//! The rules by themselves, and their tests.

use std::collections::BTreeSet;

use super::{ALERTS, alerts, files, list, names, read, text, unknown_series, yaml};

#[test]
fn every_series_in_rules_and_their_tests_exists() {
    let mut paths = files(&format!("{ALERTS}/tests"), "yaml");
    paths.push(format!("{ALERTS}/rules.yaml"));
    assert!(paths.len() > 3, "{paths:?}");
    for path in paths {
        assert_eq!(unknown_series(&read(&path)), BTreeSet::new(), "{path}");
    }
}

#[test]
fn every_alert_has_a_severity_and_says_what_is_wrong() {
    let alerts = alerts();
    assert!(alerts.len() >= 15, "{}", alerts.len());
    assert_eq!(names(&alerts).len(), alerts.len(), "two alerts have one name");
    for alert in &alerts {
        let name = text(&alert["alert"]);
        assert!(name.starts_with("Fedhub"), "{name}");
        assert!(["critical", "warning"].contains(&text(&alert["labels"]["severity"])), "{name}");
        for annotation in ["summary", "description", "runbook_url"] {
            assert!(!text(&alert["annotations"][annotation]).is_empty(), "{name} has no {annotation}");
        }
    }
}

/// With other labels than replicas have left off, an alert would fire once for each replica, or forget whose
/// it is.
#[test]
fn every_rule_makes_one_series_of_all_replicas() {
    let rules = yaml(&format!("{ALERTS}/rules.yaml"));
    for rule in list(&rules["groups"]).iter().flat_map(|group| list(&group["rules"])) {
        let expression = text(&rule["expr"]);
        assert!(!expression.contains(" by ") && !expression.contains(" on "), "{expression}");
        let recorded = expression.starts_with("fedhub:");
        assert!(recorded || expression.contains("without (instance, pod, node"), "{expression}");
    }
}

/// Each alert is tested by promtool with a series that fires it, and before its time or with one that does
/// not.
#[test]
fn every_alert_is_tested_both_ways() {
    let mut fires = BTreeSet::new();
    let mut silent = BTreeSet::new();
    for path in files(&format!("{ALERTS}/tests"), "yaml") {
        for test in list(&yaml(&path)["tests"]) {
            for case in list(&test["alert_rule_test"]) {
                let name = text(&case["alertname"]).to_owned();
                if list(&case["exp_alerts"]).is_empty() {
                    silent.insert(name)
                } else {
                    fires.insert(name)
                };
            }
            let inputs = list(&test["input_series"]).len();
            assert!(inputs > 1, "{}: no series that fires nothing", test["name"]);
        }
    }
    let alerts = names(&alerts());
    assert_eq!(fires, alerts);
    assert_eq!(silent, alerts);
}

#[test]
fn what_is_inhibited_exists() {
    let alerts = names(&alerts());
    let rules = yaml(&format!("{ALERTS}/inhibit-rules.yaml"));
    let rules = list(&rules["inhibit_rules"]);
    assert!(!rules.is_empty());
    for rule in rules {
        let matchers = list(&rule["source_matchers"]).iter().chain(list(&rule["target_matchers"]));
        for matcher in matchers {
            for name in text(matcher).split('"').nth(1).unwrap().split('|') {
                assert!(alerts.contains(name), "{name}");
            }
        }
    }
}
