//! `docs/security.md` names each role of `deploy/`, who has it, and exactly what it permits.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::markdown::{code, rows, section};
use super::{files, read};

/// What a role permits: verbs with a resource, or with a path.
type Rights = BTreeSet<(String, String)>;

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().map(|item| item.as_str().unwrap())
}

/// Whether an object is of that kind of Kubernetes' RBAC, or its cluster-wide form.
fn is(object: &Value, kind: &str) -> bool {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let of = text("kind").strip_prefix("Cluster").unwrap_or(text("kind"));
    of == kind && text("apiVersion").starts_with("rbac.authorization.k8s.io/")
}

/// The objects of the manifests of `deploy/`, by file.
fn manifests() -> BTreeMap<String, Vec<Value>> {
    let objects = |path: &str| {
        serde_saphyr::from_multiple(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    files(".yaml")
        .into_iter()
        .filter(|path| path.starts_with("deploy/base/") || path.starts_with("deploy/components/"))
        .map(|path| (path.clone(), objects(&path)))
        .collect()
}

/// What the rules of a role permit.
fn granted(role: &Value) -> Rights {
    let rules = role["rules"].as_array().unwrap();
    let of = |rule: &Value| -> Vec<(String, String)> {
        let on = strings(&rule["resources"]).chain(strings(&rule["nonResourceURLs"]));
        let pair = |on: &str| strings(&rule["verbs"]).map(|verb| (verb.to_owned(), on.to_owned())).collect();
        on.flat_map(|on| -> Vec<_> { pair(on) }).collect()
    };
    rules.iter().flat_map(of).collect()
}

/// What a cell such as "read, patch `a`, `b`; delete `c`" says; `read` is get, list and watch.
fn documented(cell: &str) -> Rights {
    let of = |part: &str| -> Vec<(String, String)> {
        let (verbs, _) = part.split_once('`').unwrap_or_else(|| panic!("no resource in {part:?}"));
        let verbs = verbs.split(',').map(str::trim).filter(|verb| !verb.is_empty());
        let verbs = verbs.flat_map(|verb| match verb {
            "read" => vec!["get", "list", "watch"],
            verb => vec![verb],
        });
        let verbs: Vec<_> = verbs.collect();
        let pairs = |on: &str| verbs.iter().map(|verb| ((*verb).to_owned(), on.to_owned())).collect();
        code(part).into_iter().flat_map(|on| -> Vec<_> { pairs(on) }).collect()
    };
    cell.split(';').flat_map(of).collect()
}

/// Those whom bindings give a role: the bindings beside it, else all of that name.
fn subjects(all: &BTreeMap<String, Vec<Value>>, path: &str, role: &Value) -> BTreeSet<String> {
    let directory = |path: &str| path.rsplit_once('/').unwrap().0.to_owned();
    let of = |beside: bool| -> Vec<&Value> {
        let near = all.iter().filter(|(other, _)| !beside || directory(other) == directory(path));
        near.flat_map(|(_, objects)| objects)
            .filter(|object| {
                let of = &object["roleRef"];
                is(object, "RoleBinding")
                    && of["kind"] == role["kind"]
                    && of["name"] == role["metadata"]["name"]
            })
            .collect()
    };
    let found = Some(of(true)).filter(|beside| !beside.is_empty()).unwrap_or_else(|| of(false));
    let subjects = found.into_iter().flat_map(|binding| binding["subjects"].as_array().unwrap());
    let names = subjects.map(|subject| {
        let name = subject["name"].as_str().unwrap();
        subject["namespace"].as_str().map_or_else(|| name.to_owned(), |within| format!("{within}/{name}"))
    });
    names.collect()
}

#[test]
fn every_role_is_named_with_whom_it_is_for_and_what_it_permits() {
    let document = read("docs/security.md");
    let all = manifests();
    let mut roles = BTreeMap::<&str, Vec<&Value>>::new();
    for (path, objects) in &all {
        for role in objects.iter().filter(|object| is(object, "Role")) {
            roles.entry(path).or_default().push(role);
        }
    }
    assert!(roles.len() >= 10, "{roles:?}");
    let rows = rows(section(&document, "Identities and rights"));
    let named: BTreeSet<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    assert_eq!(named, roles.keys().copied().collect(), "the roles of docs/security.md, and those of deploy/");
    for row in &rows {
        let path = row[0].trim_matches('`');
        let roles = &roles[path];
        let rights: Rights = roles.iter().flat_map(|role| granted(role)).collect();
        assert_eq!(documented(&row[3]), rights, "docs/security.md, and {path}");
        // An example such as `fedhub-cells/<cell>` is no name.
        let holders: BTreeSet<_> = code(&row[1]).into_iter().filter(|name| !name.contains('<')).collect();
        let subjects: BTreeSet<_> = roles.iter().flat_map(|role| subjects(&all, path, role)).collect();
        assert_eq!(holders, subjects.iter().map(String::as_str).collect(), "who has {path}");
        let within = roles.iter().all(|role| role["kind"] == "Role");
        assert_eq!(row[2].contains("within its namespace"), within, "where {path} holds");
    }
}

/// The part of a text that is about a place, in the words of the table: up to the next `;`.
fn part<'a>(text: &'a str, place: &str) -> &'a str {
    let (_, rest) = text.split_once(place).unwrap_or_else(|| panic!("nothing {place:?} in {text:?}"));
    rest.split(';').next().unwrap()
}

/// Resources by the verbs before them, such as "write `a`, `b` and read `c`".
fn by_verb(text: &str) -> BTreeSet<(&str, &str)> {
    let mut verbs = Vec::new();
    let mut found = BTreeSet::new();
    for (at, span) in text.split('`').enumerate() {
        if at % 2 == 1 {
            found.extend(verbs.iter().map(|verb| (*verb, span)));
            continue;
        }
        let words = span.split(|c: char| !c.is_alphabetic());
        let named: Vec<_> = words.filter(|it| ["write", "read", "create", "delete"].contains(it)).collect();
        if !named.is_empty() {
            verbs = named;
        }
    }
    found
}

/// What a role permits on a resource, a subresource aside, in the words of that table.
fn in_words(rights: &Rights) -> BTreeSet<(&str, &str)> {
    let mut words = BTreeSet::new();
    for (verb, on) in rights.iter().filter(|(_, on)| !on.contains('/') && on != "events") {
        let on = on.as_str();
        match verb.as_str() {
            "create" | "delete" => words.extend([("write", on), (verb.as_str(), on)]),
            "update" | "patch" => words.extend([("write", on)]),
            _ => words.extend([("read", on)]),
        }
    }
    words
}

/// What fedhub in the wrong hands can and cannot do is what its roles permit: all that they let it write, and
/// that they let it read Secrets.
#[test]
fn the_worst_case_claims_what_the_roles_permit() {
    let document = read("docs/security.md");
    let rows = rows(section(&document, "If something is compromised"));
    let row = rows.iter().find(|row| row[0].ends_with("fedhub itself")).unwrap();
    let all = manifests();
    let rights = |path: &str| -> Rights {
        all[path].iter().filter(|object| is(object, "Role")).flat_map(granted).collect()
    };
    for (place, path) in [
        ("in projects, ", "deploy/components/project-plane-rights/cluster-role.yaml"),
        ("on the hub, ", "deploy/components/hub/cluster-role.yaml"),
    ] {
        let rights = rights(path);
        let permitted = in_words(&rights);
        let expected: BTreeSet<_> = permitted
            .iter()
            .filter(|(verb, on)| *verb == "write" || (*verb == "read" && *on == "secrets"))
            .copied()
            .collect();
        assert_eq!(by_verb(part(&row[1], place)), expected, "what fedhub can do {place}by {path}");
        for anywhere in [place, "anywhere, "] {
            let denied = by_verb(part(&row[2], anywhere));
            assert!(!denied.is_empty(), "{anywhere}");
            let wrong: Vec<_> = denied.intersection(&permitted).collect();
            assert!(wrong.is_empty(), "{path} permits {wrong:?}, and docs/security.md says that it cannot");
        }
    }
}
