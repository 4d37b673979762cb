//! Which crates know which in the product, and that files of no crate know each other in circles, those of
//! `e2e` included.
//!
//! Lower crates are free of I/O, and the caches of what they are caches for; what reads plans decides no
//! rule. A crate knows lower layers alone, and none beside it; tests may reach higher. Within a crate a file
//! is above what it knows.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod circles;
mod features;
mod folders;
mod programs;
mod rules;
mod source;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use circles::{circles, describe};
use serde_json::Value;
use source::Graph;

/// The crates of the product, the lowest layer first.
const LAYERS: [&[&str]; 11] = [
    &["fedhub-features"],
    &["fedhub-rollout", "fedhub-terminal"],
    &["fedhub-core"],
    &["fedhub-cache"],
    &["fedhub-api"],
    // The users' command line knows neither planes nor what is above them.
    &["fedhub-cli", "fedhub-planes"],
    &["fedhub-engine"],
    &["fedhub-lease"],
    &["fedhub-cell", "fedhub-federator", "fedhub-projector", "fedhub-provider", "fedhub-workload"],
    // A provider's client knows its contract.
    &["fedhub-provider-region"],
    &["fedhub"],
];

/// Crates without I/O, and what they may not name.
const PURE: [&str; 4] = ["fedhub-core", "fedhub-cache", "fedhub-api", "fedhub-rollout"];
const IO: [&str; 12] = [
    "hyper",
    "hyper_util",
    "kube::Api",
    "kube::Client",
    "kube::api::Api",
    "kube::runtime::watcher::watcher",
    "std::fs",
    "std::net",
    "std::process",
    "tokio::fs",
    "tokio::net",
    "tokio::spawn",
];

/// The crate that is generic over what a controller keeps of an object.
const GENERIC: &str = "fedhub-cache";
/// What it may not name: the wire contract, and kinds and planes, of which it knows only that there are some.
const PARTICULAR: [&str; 3] = ["fedhub_core::names", "Kind", "PlaneId"];
/// The terms of the federation, which it does not use either, by how words begin.
const FEDERATION: [&str; 12] = [
    "cell",
    "cities",
    "city",
    "deployment",
    "federat",
    "hub",
    "instance",
    "karmada",
    "project",
    "tenant",
    "wd",
    "workload",
];

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// The packages of the workspace, from `cargo metadata`.
fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version=1"];
    let output = Command::new(cargo).args(arguments).current_dir(repository()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn layer(package: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&package))
}

/// The folder of a package, within the repository.
fn folder(package: &Value) -> PathBuf {
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    manifest.parent().unwrap().strip_prefix(repository()).unwrap().to_path_buf()
}

/// What the crates of the workspace depend on of each other, tests aside, and breaks the order of layers.
fn out_of_order(packages: &[Value]) -> BTreeSet<(String, String)> {
    let mut wrong = BTreeSet::new();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let Some(own) = layer(name) else { continue };
        let dependencies = package["dependencies"].as_array().unwrap();
        for dependency in dependencies.iter().filter(|it| it["kind"] != "dev" && !it["path"].is_null()) {
            let other = dependency["name"].as_str().unwrap();
            if layer(other).is_none_or(|of_other| of_other >= own) {
                wrong.insert((name.to_owned(), other.to_owned()));
            }
        }
    }
    wrong
}

#[test]
fn a_crate_depends_on_lower_layers_alone() {
    let packages = packages();
    for name in LAYERS.iter().copied().flatten() {
        assert!(packages.iter().any(|package| package["name"] == *name), "there is no crate {name}");
    }
    assert_eq!(out_of_order(&packages), BTreeSet::new(), "each of these crates knows one that it must not");
}

#[test]
fn a_crate_that_depends_on_a_higher_layer_is_found() {
    let package = |name: &str, on: &str, kind: Value| serde_json::json!({"name": name, "dependencies": [{"name": on, "kind": kind, "path": "/x"}]});
    let found = out_of_order(&[
        package("fedhub-core", "fedhub-planes", Value::Null),
        package("fedhub-cell", "fedhub-federator", "build".into()),
        package("fedhub-lease", "fedhub-fake-apiserver", Value::Null),
        package("fedhub-planes", "fedhub-lease", "dev".into()),
        package("fedhub-planes", "fedhub-core", Value::Null),
    ]);
    let expected = [
        ("fedhub-cell", "fedhub-federator"),
        ("fedhub-core", "fedhub-planes"),
        ("fedhub-lease", "fedhub-fake-apiserver"),
    ];
    assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())).into());
}

/// What a text names of what lower crates may not.
fn io(text: &str) -> Vec<String> {
    let is = |path: &str, io: &str| {
        path.strip_prefix(io).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    source::paths(text).into_iter().filter(|path| IO.iter().any(|io| is(path, io))).collect()
}

#[test]
fn io_is_found_however_it_is_written() {
    for text in [
        "use kube::{Client, Error};",
        "fn f(_: kube::Client) {}",
        "use std::fs;",
        "use std::{fmt, fs::File};",
        "#[cfg(test)]\nmod tests {}\nuse tokio::net::TcpStream;",
    ] {
        assert_eq!(io(text).len(), 1, "{text}: {:?}", io(text));
    }
    for text in
        ["use kube::client::AuthError;", "// kube::Client", "#[cfg(test)]\nmod tests {\n    use std::fs;\n}"]
    {
        assert!(io(text).is_empty(), "{text}: {:?}", io(text));
    }
}

#[test]
fn lower_crates_do_no_io() {
    let mut found = Vec::new();
    for package in packages().iter().filter(|package| PURE.contains(&package["name"].as_str().unwrap())) {
        let folder = repository().join(folder(package));
        for (name, text) in source::files(&folder.join("src")) {
            let does = io(&text).into_iter();
            found.extend(does.map(|path| format!("{}/{name}: {path}", folder.display())));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// What a text says of the federation, tests aside: its paths, and the words of its names and comments.
fn federation(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let is = |path: &str, of: &str| path.strip_prefix(of).is_some_and(|rest| rest.starts_with("::"));
    let paths = source::paths(text).into_iter().filter(|path| PARTICULAR.iter().any(|of| is(path, of)));
    let words = words(text).into_iter().filter(|word| FEDERATION.iter().any(|term| word.starts_with(term)));
    paths.chain(words).collect()
}

/// The words of a text in lower case, those of `camelCase` and `snake_case` one by one.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || (lower && c.is_uppercase()) {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}

#[test]
fn federation_is_found_however_it_is_written() {
    for text in [
        "use fedhub_core::names::CITY;",
        "fn f(kind: Kind) -> bool { kind == Kind::Secret }",
        "const HERE: PlaneId = PlaneId::Management;",
        "// of a WD",
        "/// An Instance.",
        "struct HubObject;",
        "fn project_plane() {}",
    ] {
        assert!(!federation(text).is_empty(), "{text}");
    }
    for text in [
        "use fedhub_core::object::{Kind, PlaneId};\nfn f(_: Kind, _: &PlaneId) {}",
        "#[cfg(test)]\nmod tests {\n    use fedhub_core::names::PlaneName;\n    const K: Kind = Kind::Secret;\n}",
    ] {
        assert!(federation(text).is_empty(), "{text}: {:?}", federation(text));
    }
}

#[test]
fn the_caches_are_free_of_federation() {
    let packages = packages();
    let package = packages.iter().find(|package| package["name"] == GENERIC).unwrap();
    let known: Vec<&Value> = package["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|dependency| !dependency["path"].is_null())
        .map(|it| &it["name"])
        .collect();
    assert_eq!(known, ["fedhub-core"], "{GENERIC} knows more than what every crate stands on");
    let folder = repository().join(folder(package)).join("src");
    let found: Vec<String> = source::files(&folder)
        .iter()
        .flat_map(|(name, text): &(String, String)| -> Vec<String> {
            federation(text).iter().map(|what| format!("{}/{name}: {what}", folder.display())).collect()
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The folders of the sources of a package's library and of its programs, each from the repository. A program
/// of one file has none.
fn sources(package: &Value) -> Vec<(PathBuf, &str)> {
    let targets = package["targets"].as_array().unwrap().iter();
    let roots = targets
        .filter(|target| matches!(target["kind"][0].as_str(), Some("lib" | "bin")))
        .map(|target| Path::new(target["src_path"].as_str().unwrap()));
    roots
        .filter_map(|root| {
            let name = root.file_name()?.to_str().filter(|name| matches!(*name, "lib.rs" | "main.rs"))?;
            Some((root.parent()?.strip_prefix(repository()).ok()?.to_path_buf(), name))
        })
        .collect()
}

#[test]
fn no_two_files_of_a_crate_know_each_other() {
    let mut faults = Vec::new();
    let packages = packages();
    for (folder, root) in packages.iter().flat_map(sources) {
        let graph = source::of_crate(&repository().join(&folder), root);
        for circle in circles(&graph) {
            faults.push(format!("{} has a circle:\n{}", folder.display(), describe(&graph, &circle)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.concat());
}

#[test]
fn the_sources_of_libraries_and_programs_are_read_apart() {
    let packages = packages();
    let all: BTreeSet<_> = packages.iter().flat_map(sources).collect();
    for (folder, root, has, has_not) in [
        ("federator/src", "lib.rs", "plan.rs", "main.rs"),
        ("e2e/src", "lib.rs", "servers.rs", "bin/e2e/main.rs"),
        ("e2e/src/bin/e2e", "main.rs", "run.rs", "lib.rs"),
        ("e2e/fake-apiserver/src", "lib.rs", "world.rs", "main.rs"),
        ("e2e/fake-apiserver/src", "main.rs", "main.rs", "lib.rs"),
    ] {
        assert!(all.contains(&(PathBuf::from(folder), root)), "{folder}/{root} is not among {all:?}");
        let files: BTreeSet<_> = source::of_crate(&repository().join(folder), root).into_keys().collect();
        assert!(files.contains(has) && !files.contains(has_not), "{folder}/{root}: {files:?}");
    }
}

fn found(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
    let graph: Graph = source::graph(sources.iter().copied());
    circles(&graph).into_iter().map(|circle| circle.into_iter().collect()).collect()
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    const LIB: (&str, &str) = ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;");
    let b = ("b.rs", "use crate::a::A;\npub struct B(A);");
    for a in [
        "use crate::b::B;\npub struct A(B);",
        "use crate::{b, c};\npub struct A(b::B);",
        "use super::B;\npub struct A(B);",
        "use crate::B as Other;\npub struct A(Other);",
        "use crate::b::{self, *};\npub struct A(B);",
        "pub struct A(crate::b::B);",
        "pub struct A(super::B);",
        "pub use crate::b::B;\npub struct A(B);",
        "fn f() { use crate::b; }\npub struct A;",
        "pub struct A<'a>(&'a str, [crate::b::B; '\"' as usize]);",
    ] {
        assert_eq!(found(&[LIB, ("a.rs", a), b]), [["a.rs", "b.rs"]], "{a}");
    }
}

#[test]
fn what_is_no_circle_is_not_taken_for_one() {
    const LIB: (&str, &str) = ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;");
    let b = ("b.rs", "use crate::a::A;\npub struct B(A);");
    for a in [
        "pub struct A;",
        "// use crate::b::B;\npub struct A;",
        "/* crate::b::B */ pub struct A;",
        "const TEXT: &str = \"crate::b::B\";\npub struct A;",
        "const TEXT: &str = r#\"\" crate::b::B\"#;\npub struct A;",
        "pub struct A;\n#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}",
        "pub use crate::b::B;\npub struct A;",
        "use other::b::B;\npub struct A(B);",
    ] {
        assert_eq!(found(&[LIB, ("a.rs", a), b]), Vec::<Vec<String>>::new(), "{a}");
    }
}

#[test]
fn a_folder_is_above_what_is_in_it_where_that_does_not_know_it() {
    let lib = ("lib.rs", "mod a;");
    let child = ("a/b.rs", "pub struct B;");
    let uses = ("a/mod.rs", "mod b;\nuse b::B;\npub struct A(B);");
    assert_eq!(found(&[lib, child, uses]), Vec::<Vec<String>>::new());
    let knows = ("a/b.rs", "use super::A;\npub struct B(A);");
    assert_eq!(found(&[lib, knows, uses]), [["a/b.rs", "a/mod.rs"]]);
    let passes = ("a/mod.rs", "mod b;\npub use b::B;\npub struct A;");
    assert_eq!(found(&[lib, knows, passes]), Vec::<Vec<String>>::new());
}
