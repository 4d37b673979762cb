//! The threats of `docs/security.md`: for each there are tests or suites of the names that it gives.

use std::collections::BTreeSet;

use super::markdown::{code, rows, section};
use super::{files, read, repository};

/// The attackers, as the first words of their rows.
const ATTACKERS: [&str; 6] = [
    "hostile tenant",
    "stolen credential of a cell",
    "stolen credential of fedhub",
    "neighbour on the network",
    "hurried operator",
    "supply chain",
];

/// The functions of a source that are tests, by their attribute.
fn tests(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim_start) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some(name) = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ") {
            if is_test {
                found.insert(name.split(['(', '<']).next().unwrap().to_owned());
            }
            is_test = false;
        }
    }
    found
}

#[test]
fn each_threat_is_met_by_tests_and_suites_that_exist() {
    let document = read("docs/security.md");
    let rows = rows(section(&document, "Threats"));
    let named: Vec<&str> = rows.iter().map(|row| &*row[0]).filter(|attacker| !attacker.is_empty()).collect();
    assert_eq!(named.len(), ATTACKERS.len(), "{named:?}");
    for (name, attacker) in named.iter().zip(ATTACKERS) {
        assert!(name.starts_with(attacker), "{name} in place of {attacker}");
    }
    let tests: BTreeSet<String> = files(".rs").iter().flat_map(|path| tests(&read(path))).collect();
    let suites = repository().join("e2e/suites");
    for row in &rows {
        let shown_by = code(&row[3]);
        assert!(!shown_by.is_empty(), "nothing shows that this is stopped: {row:?}");
        for name in shown_by {
            let exists = tests.contains(name) || suites.join(name).join("chainsaw-test.yaml").is_file();
            assert!(exists, "docs/security.md: there is neither a test nor a suite {name}");
        }
    }
}

#[test]
fn a_test_is_told_from_other_functions() {
    let source = "#[test]\nfn a() {}\nfn b() {}\n    #[tokio::test(start_paused = true)]\n    async fn c() {}\n// #[test]\nfn d() {}\n";
    assert_eq!(tests(source), ["a", "c"].map(str::to_owned).into());
}
