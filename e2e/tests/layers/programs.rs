//! The integration tests of a crate are one program, and no file of theirs is left out of it; examples in its
//! documentation are tests, too.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::source::files;
use super::{folder, packages, repository};

/// The file of a module that `file` declares, beside it or below it.
fn module(file: &Path, root: bool, name: &str) -> Option<PathBuf> {
    let directory = file.parent().unwrap();
    let below = directory.join(file.file_stem().unwrap());
    let directory = if root || file.ends_with("mod.rs") { directory } else { &below };
    let places = [directory.join(format!("{name}.rs")), directory.join(name).join("mod.rs")];
    places.into_iter().find(|place| place.is_file())
}

/// Adds a file, and those of its modules, to what a program is made of.
fn collect(file: PathBuf, root: bool, found: &mut BTreeSet<PathBuf>) {
    let text = fs::read_to_string(&file).unwrap();
    for line in text.lines().filter_map(|line| line.strip_suffix(';')) {
        let line =
            ["pub(crate) ", "pub "].into_iter().find_map(|public| line.strip_prefix(public)).unwrap_or(line);
        let Some(name) = line.strip_prefix("mod ") else { continue };
        if let Some(module) = module(&file, root, name) {
            collect(module, false, found);
        }
    }
    found.insert(file);
}

/// Programs that a crate has beside its one: their allocator counts the memory of the whole process, which no
/// other test may use meanwhile.
const COUNTING: [&str; 1] = ["hostile"];

#[test]
fn each_crate_has_one_program_of_integration_tests() {
    for package in packages() {
        let targets = package["targets"].as_array().unwrap();
        let programs: Vec<_> = targets
            .iter()
            .filter(|target| target["kind"][0] == "test")
            .filter_map(|target| target["name"].as_str())
            .filter(|name| !COUNTING.contains(name))
            .collect();
        assert!(
            programs.len() < 2,
            "{} links its dependencies into {programs:?}: make them modules of one `tests/main.rs`",
            package["name"]
        );
    }
}

#[test]
fn every_file_of_integration_tests_is_part_of_its_program() {
    for package in packages() {
        let tests = repository().join(folder(&package)).join("tests");
        let targets = package["targets"].as_array().unwrap();
        let programs: Vec<_> = targets.iter().filter(|target| target["kind"][0] == "test").collect();
        if programs.is_empty() {
            continue;
        }
        let mut built = BTreeSet::new();
        for program in programs {
            collect(PathBuf::from(program["src_path"].as_str().unwrap()), true, &mut built);
        }
        let there: BTreeSet<_> = files(&tests).into_iter().map(|(name, _)| tests.join(name)).collect();
        let forgotten: Vec<_> = there.difference(&built).collect();
        assert!(forgotten.is_empty(), "no `mod` names {forgotten:?}, so that its tests do not run");
    }
}

/// Whether a line of a source begins or ends a block of code in documentation.
fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    let text = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"));
    text.is_some_and(|text| text.trim_start().starts_with("```"))
}

#[test]
fn a_crate_whose_documentation_has_examples_tests_them() {
    for package in packages() {
        let sources = files(&repository().join(folder(&package)).join("src"));
        let has_examples = sources.iter().any(|(_, text)| text.lines().any(is_fence));
        let targets = package["targets"].as_array().unwrap();
        let Some(library) = targets.iter().find(|target| target["kind"][0] == "lib") else { continue };
        assert_eq!(
            library["doctest"], has_examples,
            "`doctest` in {}'s Cargo.toml: a crate with examples runs them, and one without has nothing to look for",
            package["name"]
        );
    }
}
