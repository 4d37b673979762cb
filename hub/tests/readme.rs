//! The README says what the code says.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn readme() -> String {
    fs::read_to_string(repository().join("README.md")).unwrap()
}

/// The cells of every table row whose first cell begins with `start`, without the back quotes around whole cells.
fn rows(start: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim().trim_start_matches("| ").trim_end_matches('|');
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let readme = readme();
    let tables = readme.lines().filter(|line| line.starts_with("| "));
    tables.map(cells).filter(|row| row[0].trim_matches('`').starts_with(start)).collect()
}

fn plain(cell: &str) -> &str {
    cell.trim_matches('`')
}

/// The value of `[name: value]` in a line of the help text.
fn bracketed<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(&format!("[{name}: ")).and_then(|(_, rest)| rest.split_once(']')).map(|(value, _)| value)
}

#[test]
fn every_flag_is_named_with_its_variable_and_its_default() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fedhub"));
    // A wide terminal, so that no line is wrapped.
    let help = command.args(["run", "--help"]).env("COLUMNS", "1000").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let mut flags = BTreeSet::new();
    // Joined at the flags, in case lines are wrapped after all.
    let mut entries: Vec<String> = Vec::new();
    for line in help.lines().map(str::trim) {
        match entries.last_mut() {
            Some(entry) if !line.starts_with('-') => *entry = format!("{entry} {line}"),
            _ => entries.push(line.to_owned()),
        }
    }
    let rows = rows("--");
    for entry in entries.iter().filter(|entry| entry.starts_with("--")) {
        let flag = entry.split_whitespace().next().unwrap();
        let row = rows.iter().find(|row| plain(&row[0]) == flag);
        let row = row.unwrap_or_else(|| panic!("README.md does not name {flag}"));
        let variable = bracketed(entry, "env").unwrap().trim_end_matches('=');
        assert_eq!(plain(&row[1]), variable, "{flag}");
        assert_eq!(plain(&row[2]), bracketed(entry, "default").unwrap_or_default(), "default of {flag}");
        flags.insert(flag.to_owned());
    }
    assert!(flags.len() >= 20, "{flags:?}");
    for row in rows {
        assert!(
            flags.contains(plain(&row[0])),
            "README.md names {}, which `fedhub run` does not have",
            row[0]
        );
    }
}

#[test]
fn every_metric_is_named() {
    let source = fs::read_to_string(repository().join("shared/core/src/metrics.rs")).unwrap();
    let (registration, _) = source.split_once("\nfn counter(").unwrap();
    let mut metrics = BTreeSet::new();
    let makers = [
        "counter(",
        "counters(",
        "gauges(",
        "ages(",
        "histograms(",
        "Opts::new(",
        "Gauge::new(",
        "Counter::new(",
    ];
    for maker in makers {
        for after in registration.split(maker).skip(1) {
            let name = after.split('"').nth(1).unwrap();
            metrics.insert(format!("fedhub_{name}"));
        }
    }
    assert!(metrics.len() >= 20, "{metrics:?}");
    let named: BTreeSet<String> = rows("fedhub_").iter().map(|row| plain(&row[0]).to_owned()).collect();
    assert_eq!(named, metrics);
}

#[test]
fn every_reason_is_named() {
    let source = |path: &str| fs::read_to_string(repository().join(path)).unwrap();
    let readme = readme();
    let mut found = 0;
    for (path, function) in [
        ("federator/src/refusal.rs", "pub fn reason("),
        ("projector/src/quarantine.rs", "pub fn label("),
        ("shared/core/src/errors.rs", "pub fn label("),
        ("shared/planes/src/identity/verdict.rs", "pub fn label("),
    ] {
        let source = source(path);
        let (_, body) = source.split_once(function).unwrap();
        let (body, _) = body.split_once("\n    }\n").unwrap();
        for word in body.split('"').skip(1).step_by(2) {
            assert!(readme.contains(&format!("`{word}`")), "README.md does not name {word} of {path}");
            found += 1;
        }
    }
    assert!(found >= 19, "{found}");
}

#[test]
fn every_rule_is_where_the_table_says_and_its_tests_carry_its_name() {
    let is_rule = |cell: &str| {
        let (letter, number) = cell.split_at(1);
        matches!(letter, "C" | "I" | "F" | "P")
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    };
    let mut rules = 0;
    for row in rows("").iter().filter(|row| !row[0].is_empty() && row[0].is_ascii() && is_rule(&row[0])) {
        let rule = row[0].to_lowercase();
        let files =
            |cell: &str| -> Vec<String> { cell.split(", ").map(|file| plain(file).to_owned()).collect() };
        for file in files(&row[2]) {
            assert!(repository().join(&file).is_file(), "{rule}: {file} is not there");
        }
        for file in files(&row[3]) {
            let tests = fs::read_to_string(repository().join(&file));
            let tests = tests.unwrap_or_else(|error| panic!("{rule}: {file}: {error}"));
            let named = tests.lines().any(|line| {
                let name = line.trim_start().trim_start_matches("async ").strip_prefix("fn ");
                name.is_some_and(|name| name.split('_').take(3).any(|word| word == rule))
            });
            assert!(named, "{file} has no test whose name begins with {rule}");
        }
        rules += 1;
    }
    assert!(rules >= 34, "{rules}");
}

#[test]
fn every_suite_is_named_and_in_italics_where_it_runs_alone() {
    let readme = readme();
    let mut suites = 0;
    for entry in fs::read_dir(repository().join("e2e/suites")).unwrap() {
        let directory = entry.unwrap();
        let Ok(suite) = fs::read_to_string(directory.path().join("chainsaw-test.yaml")) else { continue };
        let name = format!("`{}`", directory.file_name().to_str().unwrap());
        let alone = suite.lines().any(|line| line == "  concurrent: false");
        let rows = readme.lines().filter(|line| line.starts_with("| `") || line.starts_with("| *`"));
        let cells: Vec<_> =
            rows.filter_map(|row| row.split('|').nth(1)).filter(|c| c.contains(&name)).collect();
        assert_eq!(cells.len(), 1, "README.md names {name} {} times", cells.len());
        assert_eq!(cells[0].contains(&format!("*{name}*")), alone, "{name}");
        suites += 1;
    }
    assert!(suites >= 15, "{suites}");
}
