//! A dependency has the same features whichever packages cargo is asked for, so that it is built once.

use std::collections::BTreeSet;
use std::process::Command;

use super::{packages, repository};

/// The packages of the registry that cargo builds for `selection`, each with the features that it has then.
fn dependencies(selection: &[&str]) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["tree", "--locked", "--offline", "--prefix=none", "--format={p} with {f}"]).args(selection);
    let output = command.current_dir(repository()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| line.trim_end_matches(" (*)"));
    // Packages of the workspace come with their path.
    lines.filter(|line| !line.is_empty() && !line.contains("(/")).map(str::to_owned).collect()
}

#[test]
fn dependencies_have_the_same_features_for_every_choice_of_packages() {
    let whole = dependencies(&["--workspace"]);
    assert!(whole.iter().any(|line| line.starts_with("tokio v") && line.contains("test-util")), "{whole:#?}");
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        // The crate that unites features does so for those that depend on it.
        if name == "fedhub-features" {
            continue;
        }
        for edges in ["normal,build,dev", "no-dev"] {
            let alone = dependencies(&["--package", name, "--edges", edges]);
            let other: Vec<_> = alone.difference(&whole).collect();
            assert!(
                other.is_empty(),
                "{name} ({edges}) has dependencies with other features than the workspace has: add what they lack \
                 to shared/features/Cargo.toml: {other:#?}"
            );
        }
    }
}
