//! `.ci/dependencies` keeps what was built of crates of the registry, and nothing that could hide a failure.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::layers::repository;

/// A crate of the registry and one of the workspace, each with what cargo leaves of it.
const REGISTRY: [&str; 3] = [
    ".fingerprint/serde-0123456789abcdef/lib-serde",
    "build/serde-0123456789abcdef/output",
    "deps/libserde-0123456789abcdef.rlib",
];
const WORKSPACE: [&str; 5] = [
    ".fingerprint/fedhub-core-fedcba9876543210/lib-fedhub_core",
    "build/fedhub-core-fedcba9876543210/output",
    "deps/libfedhub_core-fedcba9876543210.rlib",
    "deps/main-fedcba9876543210",
    "fedhub",
];

/// A cache and the checkouts that share it.
struct Machine {
    directory: TempDir,
}

impl Machine {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn cache(&self) -> PathBuf {
        self.directory.path().join("cache/dependencies")
    }

    /// The target directory of a checkout.
    fn target(&self, checkout: &str) -> PathBuf {
        self.directory.path().join(checkout)
    }

    /// Runs the script for a checkout, built with that profile, and returns what it says.
    fn run(&self, verb: &str, checkout: &str, profile: &str) -> String {
        let mut command = Command::new(repository().join(".ci/dependencies"));
        command.arg(verb).env("FEDHUB_CACHE", self.directory.path().join("cache"));
        command.env("CARGO_TARGET_DIR", self.target(checkout)).env("CARGO_PROFILE_DEV_DEBUG", profile);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{verb}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A checkout in which everything was built and stored; what is stored.
    fn built(&self) -> PathBuf {
        for file in REGISTRY.iter().chain(&WORKSPACE) {
            write(&self.target("built/debug").join(file), file);
        }
        self.run("store", "built", "0");
        let [entry] = &entries(&self.cache())[..] else { panic!("one entry: {:?}", entries(&self.cache())) };
        entry.clone()
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// The files of a directory, as paths within it.
fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![directory.to_path_buf()];
    while let Some(next) = left.pop().filter(|next| next.exists()) {
        for entry in entries(&next) {
            if entry.is_dir() {
                left.push(entry);
            } else {
                found.push(entry.strip_prefix(directory).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn crates_of_the_registry_are_restored_as_they_were() {
    let machine = Machine::new();
    let entry = machine.built();
    assert_eq!(files(&entry.join("debug")), REGISTRY, "no artefact of the workspace is stored");
    machine.run("restore", "clean", "0");
    assert_eq!(files(&machine.target("clean/debug")), REGISTRY);
    let modified = |checkout: &str| {
        let file = machine.target(checkout).join("debug").join(REGISTRY[2]);
        fs::metadata(file).unwrap().modified().unwrap()
    };
    assert_eq!(modified("clean"), modified("built"), "cargo compares times");
}

#[test]
fn artefacts_of_the_workspace_are_not_restored_whoever_stored_them() {
    let machine = Machine::new();
    let entry = machine.built();
    let mut checksums = vec![fs::read_to_string(entry.join("checksums")).unwrap()];
    for file in WORKSPACE {
        let path = entry.join("debug").join(file);
        write(&path, file);
        let sum = Command::new("sha256sum").arg(&path).output().unwrap();
        let sum = String::from_utf8(sum.stdout).unwrap();
        checksums.push(format!("{}  ./{file}\n", sum.split(' ').next().unwrap()));
    }
    fs::write(entry.join("checksums"), checksums.concat()).unwrap();
    let said = machine.run("restore", "clean", "0");
    assert!(said.contains("restored"), "{said}");
    assert_eq!(files(&machine.target("clean/debug")), REGISTRY);
}

#[test]
fn an_entry_that_is_altered_or_incomplete_is_not_used() {
    let spoil: [fn(&Path); 4] = [
        |entry| fs::write(entry.join("debug").join(REGISTRY[2]), "other").unwrap(),
        |entry| fs::remove_file(entry.join("debug").join(REGISTRY[2])).unwrap(),
        |entry| fs::write(entry.join("debug/deps/libserde-0123456789abcdef.rmeta"), "more").unwrap(),
        |entry| fs::remove_file(entry.join("checksums")).unwrap(),
    ];
    for (case, spoil) in spoil.into_iter().enumerate() {
        let machine = Machine::new();
        let entry = machine.built();
        spoil(&entry);
        let said = machine.run("restore", "clean", "0");
        assert!(said.contains("incomplete or altered"), "{case}: {said}");
        assert!(files(&machine.target("clean")).is_empty(), "{case}");
        assert!(!entry.exists(), "{case}: the next run stores anew");
    }
}

#[test]
fn what_was_built_otherwise_is_another_entry_and_the_newest_two_stay() {
    let machine = Machine::new();
    let first = machine.built();
    let said = machine.run("restore", "clean", "1");
    assert!(said.contains("nothing is stored"), "{said}");
    assert!(files(&machine.target("clean")).is_empty());
    machine.run("store", "built", "1");
    assert!(first.exists());
    machine.run("store", "built", "2");
    let left = entries(&machine.cache());
    assert!(left.len() == 2 && !left.contains(&first), "{left:?}");
}

#[test]
fn a_checkout_that_has_built_is_left_alone() {
    let machine = Machine::new();
    machine.built();
    write(&machine.target("used/debug/deps/own"), "own");
    machine.run("restore", "used", "0");
    assert_eq!(files(&machine.target("used/debug")), ["deps/own"]);
}
