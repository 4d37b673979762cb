//! Every command of fedhub that a document prints exists, with the flags that it is given.

use std::collections::{BTreeMap, BTreeSet};

use super::markdown::{code, rows, section};
use super::reference::help;
use super::{files, read};

/// The commands of fedhub in the code blocks of a document, each on one line, and in its code spans.
fn commands(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let is_code = fenced || line.starts_with("    ");
        let spans = if is_code { vec![line.trim()] } else { code(line) };
        found.extend(spans.into_iter().filter(|it| it.starts_with("fedhub ")).map(str::to_owned));
    }
    found
}

/// The flags in a command.
fn flags(command: &str) -> impl Iterator<Item = &str> {
    let parts = command.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    parts.filter(|part| part.len() > 2 && part.starts_with("--"))
}

/// The subcommand, and the word behind it, where that may be one of its own.
fn subcommand(command: &str) -> Vec<&str> {
    let words = command.split_whitespace().skip(1);
    let words = words.map(|word| word.split('|').next().unwrap());
    words
        .take_while(|word| {
            word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') && !word.starts_with('-')
        })
        .take(2)
        .collect()
}

#[test]
fn every_command_that_is_printed_exists() {
    let mut helps = BTreeMap::<Vec<String>, String>::new();
    let mut of = |words: &[&str]| -> String {
        let key = words.iter().map(|word| (*word).to_owned()).collect();
        helps.entry(key).or_insert_with(|| help(words)).clone()
    };
    let mut checked = 0;
    for document in files(".md") {
        for command in commands(&read(&document)) {
            let words = subcommand(&command);
            let Some(first) = words.first() else { continue };
            let known = of(&[*first]);
            assert!(!known.is_empty(), "{document}: {command}: no such command");
            let known = format!("{known}{}", if words.len() > 1 { of(&words) } else { String::new() });
            let known: BTreeSet<&str> = flags(&known).collect();
            for flag in flags(&command) {
                assert!(known.contains(flag), "{document}: {command}: no flag {flag}");
                checked += 1;
            }
        }
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn a_command_is_found_with_its_flags() {
    let text = "A `fedhub planes` b `fedhub_leader`.\n\n    fedhub hub accept-restore --a \\\n        --b-c=d [--e FILE] -n x\n\nfedhub is\n";
    let found = commands(text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(flags(&found[1]).collect::<Vec<_>>(), ["--a", "--b-c", "--e"]);
    assert_eq!(subcommand(&found[1]), ["hub", "accept-restore"]);
    assert_eq!(subcommand("fedhub explain wd|instance NAME"), ["explain", "wd"]);
    assert_eq!(help(&["no-such-command"]), "");
}

/// Troubleshooting names what `fedhub explain` and `fedhub audit` say.
#[test]
fn every_cause_and_finding_that_is_looked_up_exists() {
    let first = |path: &str, heading: &str| -> Vec<String> {
        let text = read(path);
        rows(section(&text, heading)).into_iter().map(|row| row[0].trim_matches('`').to_owned()).collect()
    };
    let mut known = first("docs/reference/explain.md", "Causes");
    known.extend(first("docs/reference/audit.md", "Findings"));
    let is_name =
        |span: &&str| span.contains('-') && span.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    let mut named = 0;
    for row in rows(&read("docs/troubleshooting.md")) {
        for name in code(&row[0]).into_iter().filter(is_name) {
            assert!(known.iter().any(|it| it == name), "docs/troubleshooting.md names {name}");
            named += 1;
        }
    }
    assert!(named > 50, "{named}");
}
