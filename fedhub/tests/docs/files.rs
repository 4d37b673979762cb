//! Files that commands of the documents write, and those that an image is built from.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{files, read, repository};

/// The code blocks of a document, each as its lines.
fn blocks(text: &str) -> Vec<Vec<&str>> {
    let mut blocks = Vec::<Vec<&str>>::new();
    let mut fenced = false;
    let mut blank = true;
    let mut open = false;
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        let indented = line.starts_with("    ") && (blank || open);
        if fence || !(fenced || indented) {
            open &= line.trim().is_empty() && !fence;
        } else {
            if !open {
                blocks.push(Vec::new());
            }
            open = true;
            blocks.last_mut().unwrap().push(line.trim());
        }
        blank = line.trim().is_empty();
    }
    blocks
}

/// Whether a command prints credentials. A CA is none.
fn prints_credentials(command: &str) -> bool {
    let prints =
        ["config view", "--print", "base64 -d", "get secret"].iter().any(|part| command.contains(part));
    prints && !command.contains(r"{.data.ca\.crt}")
}

/// The commands of a block that write credentials to a file that others may read.
fn readable(block: &[&str]) -> Vec<String> {
    let joined = block.join("\n").replace("\\\n", " ").replace("|\n", "| ");
    let mut masked = false;
    let mut found = Vec::new();
    for command in joined.lines() {
        masked |= command.contains("umask 077");
        let writes = command.replace("2>", "").replace('<', "").contains('>');
        if writes && prints_credentials(command) && !masked {
            found.push(command.to_owned());
        }
    }
    found
}

#[test]
fn w6_credentials_are_written_for_their_owner_alone() {
    let mut written = 0;
    for path in files(".md") {
        for block in blocks(&read(&path)) {
            assert_eq!(readable(&block), Vec::<String>::new(), "{path}: `umask 077` comes first");
            written += usize::from(block.iter().any(|line| line.contains("umask 077")));
        }
    }
    assert!(written >= 4, "{written}");
    let text = "a\n\n    kubectl config view --raw >hub.yaml\n\n```sh\numask 077\nx --print >a\n```\n    no code >x --print\n";
    let found: Vec<_> = blocks(text).iter().flat_map(|block| readable(block)).collect();
    assert_eq!(found, ["kubectl config view --raw >hub.yaml"]);
    let several = ["kubectl get secret a \\", "| base64 -d > a.yaml"];
    assert_eq!(readable(&several).len(), 1);
}

/// What an image is built from is named, so that what else is in a checkout is in no layer of it.
#[test]
fn w6_the_build_context_is_what_the_build_needs() {
    let ignore = read(".dockerignore");
    let mut lines = ignore.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(lines.next(), Some("*"), "nothing is sent that is not named");
    let allowed: BTreeSet<&str> = lines.filter_map(|line| line.strip_prefix('!')).collect();
    let manifest = read("Cargo.toml");
    let members = manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once(']')).unwrap().0;
    let members = members.split('"').skip(1).step_by(2).map(|member| member.split('/').next().unwrap());
    let needed: BTreeSet<&str> = members.chain([".cargo", "Cargo.lock", "Cargo.toml", "deploy"]).collect();
    assert_eq!(allowed, needed);
    for path in needed {
        assert!(repository().join(path).exists(), "{path}");
    }
}

/// Where one cluster has several parts, what is applied later takes the place of what has its kind and its
/// name: rights with one name are the same rights.
#[test]
fn i14_no_two_roles_within_a_namespace_have_one_name_and_different_rules() {
    let mut seen = BTreeMap::<(String, String), (String, Value)>::new();
    let manifests = files(".yaml")
        .into_iter()
        .filter(|path| path.starts_with("deploy/base/") || path.starts_with("deploy/components/"));
    for path in manifests {
        let objects: Vec<Value> = serde_saphyr::from_multiple(&read(&path)).unwrap();
        for role in objects.into_iter().filter(|object| object["kind"] == "Role") {
            let text = |field: &str| role["metadata"][field].as_str().unwrap().to_owned();
            let name = (text("namespace"), text("name"));
            let (other, rules) =
                seen.entry(name.clone()).or_insert_with(|| (path.clone(), role["rules"].clone()));
            assert_eq!(*rules, role["rules"], "{name:?} is in {other} and in {path}");
        }
    }
    assert!(seen.len() >= 4, "{seen:?}");
}
