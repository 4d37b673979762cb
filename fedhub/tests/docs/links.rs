//! Every relative link leads somewhere, and every document can be reached.

use std::collections::BTreeSet;

use super::{files, has_extension, markdown, read, repository};

/// The path of a file from the repository, that a link in the document `from` leads to.
fn resolve(from: &str, target: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => assert!(parts.pop().is_some(), "{from} links out of the repository: {target}"),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// A fault of a link, in words.
fn fault(from: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (target, anchor) =
        link.split_once('#').map_or((link, None), |(target, anchor)| (target, Some(anchor)));
    let path = if target.is_empty() { from.to_owned() } else { resolve(from, target) };
    if !repository().join(&path).exists() {
        return Some(format!("{from}: {link}: {path} does not exist"));
    }
    let anchor = anchor?;
    let known =
        has_extension(&path, "md") && markdown::anchors(&read(&path)).iter().any(|known| known == anchor);
    (!known).then(|| format!("{from}: {link}: {path} has no heading for the anchor"))
}

#[test]
fn every_relative_link_and_anchor_leads_somewhere() {
    let mut faults = Vec::new();
    let mut links = 0;
    for document in files(".md") {
        for link in markdown::links(&read(&document)) {
            faults.extend(fault(&document, &link));
            links += 1;
        }
    }
    assert!(links > 100, "{links}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    for (link, found) in [
        ("NOWHERE.md", true),
        ("README.md", false),
        ("docs/install.md#requirements", false),
        ("install.md#requirements", false),
        ("install.md#no-such-heading", true),
        ("#no-such-heading", true),
        ("https://example.com/nowhere", false),
        ("../README.md", false),
        ("../LICENSE", false),
        ("../LICENSE#x", true),
    ] {
        let from = if link.starts_with("docs/") { "README.md" } else { "docs/testing.md" };
        assert_eq!(fault(from, link).is_some(), found, "{link}");
    }
}

/// Files and directories by their path in the repository, in code spans.
#[test]
fn every_path_that_is_named_exists() {
    let is_path = |span: &&str| {
        let (top, below) = span.split_once('/').unwrap_or_default();
        let built = matches!(top, "" | "." | "target" | "tmp");
        !built
            && !below.is_empty()
            && span.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c))
            && repository().join(top).is_dir()
    };
    let mut paths = 0;
    let mut faults = Vec::new();
    for document in files(".md") {
        let prose = markdown::prose(&read(&document));
        for path in markdown::code(&prose).into_iter().filter(is_path) {
            if !repository().join(path).exists() {
                faults.push(format!("{document}: {path}"));
            }
            paths += 1;
        }
    }
    assert!(paths > 150, "{paths}");
    assert!(faults.is_empty(), "these do not exist:\n{}", faults.join("\n"));
}

#[test]
fn every_target_of_make_that_is_named_exists() {
    let makefile = read("Makefile");
    let is_target = |name: &str| makefile.lines().any(|line| line.starts_with(&format!("{name}:")));
    let mut targets = 0;
    for document in files(".md") {
        let text = read(&document);
        let commands = text.split("`make ").skip(1).chain(text.split("\n    make ").skip(1));
        for command in commands {
            let name: String = command
                .chars()
                .take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')
                .collect();
            assert!(name.is_empty() || is_target(&name), "{document}: make {name}");
            targets += 1;
        }
    }
    assert!(targets > 20, "{targets}");
}

#[test]
fn every_document_is_reached_from_the_readme() {
    let mut reached = BTreeSet::new();
    let mut next = vec!["README.md".to_owned()];
    while let Some(document) = next.pop() {
        if !reached.insert(document.clone()) {
            continue;
        }
        let links = markdown::links(&read(&document));
        let targets = links.iter().filter(|link| !link.contains("://") && !link.starts_with('#'));
        let paths = targets.map(|link| resolve(&document, link.split('#').next().unwrap()));
        next.extend(paths.filter(|path| has_extension(path, "md")));
    }
    let lost: Vec<_> = files(".md").into_iter().filter(|document| !reached.contains(document)).collect();
    assert!(lost.is_empty(), "no link from README.md leads to {lost:?}");
}

#[test]
fn the_readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(lines < 250, "{lines} lines: details belong into docs/");
}
