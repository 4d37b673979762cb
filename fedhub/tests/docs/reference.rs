//! `docs/reference` and `docs/testing.md` name what there is: flags, metrics, reasons, names of the wire,
//! suites.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use fedhub_api::reason::Reason;
use fedhub_core::errors::Category;
use fedhub_core::metrics::LEADER_ONLY;
use fedhub_testing::assert_table;
use strum::VariantArray;

use super::markdown::{code, rows, section};
use super::{read, repository};

fn plain(cell: &str) -> &str {
    cell.trim_matches('`')
}

/// The rows of a document whose first cell begins with `start`.
fn rows_of(path: &str, start: &str) -> Vec<Vec<String>> {
    rows(&read(path)).into_iter().filter(|row| plain(&row[0]).starts_with(start)).collect()
}

/// The value of `[name: value]` in a line of the help text.
fn bracketed<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(&format!("[{name}: ")).and_then(|(_, rest)| rest.split_once(']')).map(|(value, _)| value)
}

/// The help text of a command, on a terminal so wide that no line is wrapped.
pub fn help(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fedhub"));
    let help = command.args(arguments).arg("--help").env("COLUMNS", "1000").output().unwrap();
    String::from_utf8(help.stdout).unwrap()
}

#[test]
fn every_flag_is_named_with_its_variable_and_its_default() {
    let cli = "docs/reference/cli.md";
    let mut flags = BTreeSet::new();
    // Joined at the flags, in case lines are wrapped after all.
    let mut entries: Vec<String> = Vec::new();
    for line in help(&["run"]).lines().map(str::trim) {
        match entries.last_mut() {
            Some(entry) if !line.starts_with('-') => *entry = format!("{entry} {line}"),
            _ => entries.push(line.to_owned()),
        }
    }
    let rows = rows_of(cli, "--");
    for entry in entries.iter().filter(|entry| entry.starts_with("--")) {
        let flag = entry.split_whitespace().next().unwrap();
        let row = rows.iter().find(|row| plain(&row[0]) == flag);
        let row = row.unwrap_or_else(|| panic!("{cli} does not name {flag}"));
        let variable = bracketed(entry, "env").unwrap().trim_end_matches('=');
        assert_eq!(plain(&row[1]), variable, "{flag}");
        assert_eq!(plain(&row[2]), bracketed(entry, "default").unwrap_or_default(), "default of {flag}");
        flags.insert(flag.to_owned());
    }
    assert!(flags.len() >= 20, "{flags:?}");
    for row in rows {
        assert!(flags.contains(plain(&row[0])), "{cli} names {}, which `fedhub run` does not have", row[0]);
    }
}

#[test]
fn every_command_has_a_section() {
    let help = help(&[]);
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let names = commands.lines().take_while(|line| !line.is_empty());
    let names: Vec<_> =
        names.filter_map(|line| line.split_whitespace().next()).filter(|it| *it != "help").collect();
    assert!(names.len() >= 4, "{names:?}");
    let cli = read("docs/reference/cli.md");
    for name in names {
        assert!(
            cli.contains(&format!("\n## fedhub {name}\n")),
            "docs/reference/cli.md has no section fedhub {name}"
        );
    }
}

#[test]
fn every_metric_is_named() {
    let source = read("shared/core/src/metrics.rs");
    let (_, declared) = source.split_once("\nmetrics! {\n").unwrap();
    let (declared, _) = declared.split_once("\n}\n").unwrap();
    let declared =
        declared.lines().filter(|line| line.ends_with("];")).map(|line| line.split('"').nth(1).unwrap());
    let metrics: BTreeSet<_> = declared.chain(["build_info"]).map(|name| format!("fedhub_{name}")).collect();
    assert!(metrics.len() >= 20, "{metrics:?}");
    let rows = rows_of("docs/reference/metrics.md", "fedhub_");
    let named: BTreeSet<String> = rows.iter().map(|row| plain(&row[0]).to_owned()).collect();
    assert_eq!(named, metrics);
}

#[test]
fn every_gauge_that_a_standby_leaves_out_is_named() {
    let document = read("docs/reference/metrics.md");
    let listed = section(&document, "Replicas").lines().filter(|line| line.starts_with("- "));
    let named: BTreeSet<_> = listed.flat_map(code).map(str::to_owned).collect();
    let expected: BTreeSet<_> = LEADER_ONLY.iter().map(|name| format!("fedhub_{name}")).collect();
    assert_eq!(named, expected);
    let registered = rows_of("docs/reference/metrics.md", "fedhub_");
    let registered: BTreeSet<_> = registered.iter().map(|row| plain(&row[0]).to_owned()).collect();
    assert!(named.is_subset(&registered), "{named:?}");
}

/// Documents name no metric that there is not.
#[test]
fn every_metric_that_is_named_exists() {
    let rows = rows_of("docs/reference/metrics.md", "fedhub_");
    let metrics: BTreeSet<String> = rows.iter().map(|row| plain(&row[0]).to_owned()).collect();
    for path in super::files(".md") {
        for span in code(&read(&path)) {
            let name: String = span.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            let is_crate = name.starts_with("fedhub_fake_apiserver");
            if name.starts_with("fedhub_") && name.len() > "fedhub_".len() && !is_crate {
                assert!(metrics.contains(&name), "{path} names {name}");
            }
        }
    }
}

#[test]
fn every_reason_is_named() {
    let mut found = 0;
    for (path, function, document) in [
        ("federator/src/cleanup.rs", "pub fn label(", "docs/operations.md"),
        ("projector/src/quarantine.rs", "pub fn label(", "docs/operations.md"),
        ("projector/src/verdict.rs", "pub fn label(", "docs/reference/metrics.md"),
        ("shared/planes/src/registry/restores/revision.rs", "pub fn label(", "docs/reference/metrics.md"),
        ("shared/planes/src/registry/identity/decision.rs", "pub fn label(", "docs/operations.md"),
    ] {
        let source = read(path);
        let (_, body) = source.split_once(function).unwrap_or_else(|| panic!("{path} has no {function}"));
        let (body, _) = body.split_once("\n    }\n").unwrap();
        let text = read(document);
        for word in body.split('"').skip(1).step_by(2) {
            assert!(text.contains(&format!("`{word}`")), "{document} does not name {word} of {path}");
            found += 1;
        }
    }
    let conditions = read("docs/reference/conditions.md");
    for reason in Reason::all() {
        assert!(
            conditions.contains(&format!("`{reason}`")),
            "docs/reference/conditions.md does not name {reason}"
        );
        found += 1;
    }
    let metrics = read("docs/reference/metrics.md");
    for category in Category::VARIANTS {
        assert!(
            metrics.contains(&format!("`{category}`")),
            "docs/reference/metrics.md does not name {category}"
        );
        found += 1;
    }
    assert!(found >= 25, "{found}");
}

/// The tables of reasons are written from the code: `UPDATE_REASONS=1` writes them anew.
#[test]
fn c9_every_reason_has_its_meaning_who_acts_and_the_remedy() {
    const PATH: &str = "docs/reference/conditions.md";
    let row = |reason: Reason, on: Option<&str>| {
        let meaning = reason.meaning().trim().trim_end_matches('.').to_owned();
        let acts = [reason.responsible().to_string(), reason.remedy().to_owned()];
        [format!("`{reason}`")]
            .into_iter()
            .chain(on.map(str::to_owned))
            .chain([meaning])
            .chain(acts)
            .collect()
    };
    let unmet = Reason::all().filter(|reason| reason.is_unmet()).map(|reason| row(reason, None));
    assert_table(PATH, "| reason | meaning | who acts | remedy |", unmet);
    let met = Reason::all().filter(|reason| !reason.is_unmet() && reason.event_on().is_none());
    assert_table(PATH, "| reason of True | meaning |", met.map(|reason| row(reason, None)[..2].to_vec()));
    let events = Reason::all().filter_map(|reason| Some(row(reason, Some(reason.event_on()?))));
    assert_table(PATH, "| reason of an Event | on | meaning | who acts | remedy |", events);
}

#[test]
fn every_name_of_the_wire_contract_is_named() {
    let source = read("shared/core/src/names.rs");
    let source = source.split("#[cfg(test)]").next().unwrap();
    let document = read("docs/reference/labels.md");
    let names =
        source.split('"').skip(1).step_by(2).filter(|name| name.contains(".com/") || name.contains(".io/"));
    let names: BTreeSet<_> = names.filter(|name| !name.contains(['{', ' '])).collect();
    assert!(names.len() >= 30, "{names:?}");
    for name in names {
        assert!(document.contains(name), "docs/reference/labels.md does not name {name}");
    }
}

#[test]
fn every_suite_is_named_and_in_italics_where_it_runs_alone() {
    let document = read("docs/testing.md");
    let mut suites = 0;
    for entry in fs::read_dir(repository().join("e2e/suites")).unwrap() {
        let directory = entry.unwrap();
        let Ok(suite) = fs::read_to_string(directory.path().join("chainsaw-test.yaml")) else { continue };
        let name = format!("`{}`", directory.file_name().to_str().unwrap());
        let alone = suite.lines().any(|line| line == "  concurrent: false");
        let rows = document.lines().filter(|line| line.starts_with("| `") || line.starts_with("| *`"));
        let cells: Vec<_> =
            rows.filter_map(|row| row.split('|').nth(1)).filter(|c| c.contains(&name)).collect();
        assert_eq!(cells.len(), 1, "docs/testing.md names {name} {} times", cells.len());
        assert_eq!(cells[0].contains(&format!("*{name}*")), alone, "{name}");
        suites += 1;
    }
    assert!(suites >= 15, "{suites}");
}

/// What is built and tested with, in the documents, the image and the CI workflow.
#[test]
fn every_version_that_is_named_is_the_one_in_use() {
    let after = |path: &str, key: &str| -> String {
        let text = read(path);
        let (_, rest) = text.split_once(key).unwrap_or_else(|| panic!("{path} has no {key}"));
        rest.trim_start_matches(['v', '"']).chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect()
    };
    let minor = |version: &str| version.split('.').take(2).collect::<Vec<_>>().join(".");
    let rust = after("Cargo.toml", "rust-version = ");
    for (path, key) in [("Dockerfile", "library/rust:"), (".github/workflows/ci.yml", "rustup default ")] {
        assert_eq!(after(path, key), rust, "{path}");
    }
    let go = minor(&after("e2e/tools/karmada/go.mod", "\ngo "));
    assert_eq!(after(".github/workflows/ci.yml", "go-version: "), go);
    assert!(read(".github/workflows/ci.yml").contains("run: make test\n"));
    for path in ["README.md", "CONTRIBUTING.md", "docs/testing.md"] {
        let text = read(path);
        assert!(text.contains(&format!("Rust {rust}")), "{path}: Rust {rust}");
        assert!(text.contains(&format!("Go {go}")), "{path}: Go {go}");
    }
    for (component, path, module) in [
        ("Karmada (the hub)", "e2e/tools/karmada/go.mod", "github.com/karmada-io/karmada "),
        ("Kubernetes API servers", "e2e/tools/kubernetes/go.mod", "k8s.io/kubernetes "),
        ("etcd", "e2e/tools/etcd/go.mod", "go.etcd.io/etcd/server/v3 "),
        ("Rust to build", "Cargo.toml", "rust-version = "),
    ] {
        let rows = rows_of("README.md", component);
        assert_eq!(rows[0][1], minor(&after(path, module)), "{component}");
    }
}
