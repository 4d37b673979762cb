//! What is logged and shown of errors is made in one place: `errors::chain` (section 6).

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::{Path, PathBuf};

/// The crates that the process is made of, and the simulated services, whose log is read beside its own.
const PRODUCT: [&str; 13] = [
    "shared/core",
    "shared/terminal",
    "shared/api",
    "shared/cache",
    "shared/planes",
    "shared/engine",
    "shared/lease",
    "federator",
    "projector",
    "cell",
    "e2e/simulate",
    "fedhub",
    "cli",
];
/// What errors are called.
const NAMES: [&str; 9] = ["error", "e", "err", "fault", "source", "cause", "trouble", "refusal", "why"];

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true if entry.ends_with("tests") => {}
            true => files(&entry, found),
            false if entry.ends_with("tests.rs") => {}
            false => found.push(entry),
        }
    }
}

/// Where a line prints an error itself: its structure, or a text that may be a dump of one.
fn printed(line: &str) -> Option<String> {
    NAMES.iter().find_map(|name| {
        let formats = [":?}", ":#?}", ":#}"].map(|format| format!("{{{name}{format}"));
        let debug = formats.into_iter().find(|printed| line.contains(printed));
        let sigils = ["?", "%"].map(|sigil| format!("{sigil}{name}"));
        let field = sigils.into_iter().find(|field| {
            line.match_indices(field).any(|(at, _)| {
                let before = line[..at].chars().last();
                let after = line[at + field.len()..].chars().next();
                before.is_none_or(|c| "( ,=".contains(c)) && after.is_none_or(|c| "),; ".contains(c))
            })
        });
        debug.or(field)
    })
}

#[test]
fn errors_are_told_in_words_and_never_dumped() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut sources = Vec::new();
    for name in PRODUCT {
        files(&repository.join(name).join("src"), &mut sources);
    }
    assert!(sources.len() > 100, "{sources:?}");
    let mut found = Vec::new();
    for path in sources {
        let source = fs::read_to_string(&path).unwrap();
        let product = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for (number, line) in product.lines().enumerate() {
            if let Some(printed) = printed(line.trim()) {
                found.push(format!("{}:{}: {printed}", path.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "use errors::chain:\n{}", found.join("\n"));
}

#[test]
fn what_prints_an_error_is_found() {
    for (line, expected) in [
        ("tracing::warn!(%error, \"x\");", Some("%error")),
        ("tracing::warn!(plane = %plane.id, error = ?e, \"x\");", Some("?e")),
        ("format!(\"{error:?}\")", Some("{error:?}")),
        ("eprintln!(\"fedhub: {error:#}\");", Some("{error:#}")),
        ("tracing::warn!(error = errors::chain(&error), ?wait, plane = %plane.id, \"x\");", None),
        ("written?;", None),
        ("kind = %event.kind", None),
    ] {
        assert_eq!(printed(line).as_deref(), expected, "{line}");
    }
}
