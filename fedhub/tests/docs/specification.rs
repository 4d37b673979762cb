//! The table of `docs/specification.md`: each rule is decided in one file, which says so, and has tests of
//! its name.

use std::collections::{BTreeMap, BTreeSet};

use super::{files, has_extension, markdown, read, repository};

const SPECIFICATION: &str = "docs/specification.md";
/// How a file says which rules it decides.
const DECIDES: &str = "//! Decides ";

fn is_rule(word: &str) -> bool {
    word.split_at_checked(1).is_some_and(|(letter, number)| {
        "IFPCWURV".contains(letter) && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// The rows of the table, by rule.
fn table() -> BTreeMap<String, Vec<String>> {
    let text = read(SPECIFICATION);
    let rows = markdown::rows(markdown::section(&text, "Rules, code, tests"));
    let count = rows.len();
    let table: BTreeMap<_, _> = rows.into_iter().map(|row| (row[0].clone(), row)).collect();
    assert_eq!(table.len(), count, "a rule stands twice");
    table
}

/// The rules that the text states, as the beginnings of items: `- **F6** ...`.
fn stated() -> BTreeSet<String> {
    let text = read(SPECIFICATION);
    let items = text.lines().filter_map(|line| line.strip_prefix("- **"));
    items.map(|item| item.split([' ', '*']).next().unwrap().to_owned()).filter(|word| is_rule(word)).collect()
}

/// The rules that a file says it decides.
fn decides(source: &str) -> BTreeSet<String> {
    let words = source
        .lines()
        .filter_map(|line| line.strip_prefix(DECIDES))
        .flat_map(|rest| rest.split([',', ' ', '.']));
    words.filter(|word| is_rule(word)).map(str::to_owned).collect()
}

/// Whether a name of a test carries a rule, as one of its first words.
fn carries(name: &str, rule: &str) -> bool {
    name.split('_').take(3).any(|word| word.eq_ignore_ascii_case(rule))
}

/// Whether a file has a test that carries a rule's name, or is a suite whose description names it.
fn tests(path: &str, rule: &str) -> bool {
    let source = read(path);
    if has_extension(path, "yaml") {
        let words = source.split(|c: char| !c.is_ascii_alphanumeric());
        return words.into_iter().any(|word| word == rule);
    }
    let names =
        source.lines().filter_map(|line| line.trim_start().trim_start_matches("async ").strip_prefix("fn "));
    names.into_iter().any(|name| carries(name.split('(').next().unwrap(), rule))
}

#[test]
fn every_rule_that_is_stated_is_built() {
    let listed: BTreeSet<_> = table().into_keys().collect();
    assert_eq!(listed, stated());
    for (letter, count) in
        [("I", 12), ("F", 11), ("P", 8), ("C", 15), ("W", 10), ("U", 5), ("R", 10), ("V", 9)]
    {
        let numbers = (1..=count).map(|number| format!("{letter}{number}"));
        let missing: Vec<_> = numbers.filter(|rule| !listed.contains(rule)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

#[test]
fn every_rule_is_decided_in_one_file_which_says_so() {
    let table = table();
    let mut claimed = BTreeMap::<String, Vec<String>>::new();
    let product = |path: &String| path.contains("/src/") && !path.starts_with("e2e/");
    for path in files(".rs").into_iter().filter(product) {
        for rule in decides(&read(&path)) {
            claimed.entry(rule).or_default().push(path.clone());
        }
    }
    for (rule, row) in &table {
        let code = markdown::code(&row[2]);
        assert_eq!(code.len(), 1, "{rule}: one file decides");
        assert!(repository().join(code[0]).is_file(), "{rule}: {} does not exist", code[0]);
        let claims = claimed.remove(rule).unwrap_or_default();
        assert_eq!(claims, code, "{rule}: the files with the line `{DECIDES}{rule}.`, and the table");
    }
    assert!(claimed.is_empty(), "not in the table as built: {claimed:?}");
}

#[test]
fn every_rule_has_tests_that_carry_its_name() {
    for (rule, row) in table() {
        let paths = markdown::code(&row[3]);
        assert!(!paths.is_empty(), "{rule} has no tests");
        for path in paths {
            assert!(tests(path, &rule), "{path} has no test that carries the name {rule}");
        }
    }
}

#[test]
fn no_test_carries_the_name_of_a_rule_that_is_not_stated() {
    let stated = stated();
    for path in files(".rs") {
        for line in read(&path).lines() {
            let Some(name) = line.trim_start().trim_start_matches("async ").strip_prefix("fn ") else {
                continue;
            };
            let word = name.split(['_', '(']).next().unwrap().to_ascii_uppercase();
            assert!(!is_rule(&word) || stated.contains(&word), "{path}: {name}");
        }
    }
}

#[test]
fn suites_show_rules_that_are_stated() {
    let stated = stated();
    let testing = read("docs/testing.md");
    let rows = markdown::rows(markdown::section(&testing, "Suites"));
    assert!(rows.len() > 40, "{rows:?}");
    for row in rows {
        let rules = row[2].split(", ").filter(|rule| !rule.is_empty());
        let unknown: Vec<_> = rules.filter(|rule| !stated.contains(*rule)).collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", row[0]);
    }
}

#[test]
fn rules_in_names_and_headers_are_recognised() {
    assert!(carries("f6_a_move", "F6") && carries("projecting_p4_is_restored", "P4"));
    assert!(!carries("f60_a_move", "F6") && !carries("it_is_about_f6_in_the_end_f6", "F6"));
    let header = "//! What.\n//!\n//! Decides F2, F3 and I9.\n\n// Decides P1.\n";
    assert_eq!(decides(header), ["F2", "F3", "I9"].map(str::to_owned).into());
}
