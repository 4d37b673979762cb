//! A rule is decided in a plan, and nowhere beside it (ADR 20): what reads plans names nothing that the
//! federator and the projector decide by.

use super::{repository, source};

/// What reads plans, with the files of it that read or ask for objects, and so need their names.
const READERS: [(&str, &[&str]); 3] = [
    ("fedhub/src/explain", &["read.rs", "diagnose/federation.rs"]),
    ("fedhub/src/status_page", &[]),
    // Orphans are found from the hub, where no project WD leads to a plan, and cells are told by their marks.
    ("fedhub/src/audit", &["compare/context.rs", "compare/hub.rs", "compare/cells.rs"]),
];
/// What a WD's city, name, hub namespace and origin are judged by.
const DECIDING: [&str; 13] = [
    "DELETION_PROTECTED",
    "FEDERATION_NAMESPACE",
    "HUB_LOST",
    "MIRRORED_ANNOTATIONS",
    "SOURCE",
    "SOURCE_UID",
    "UPSTREAM_CLUSTER",
    "UPSTREAM_NAMESPACE",
    "decode_plane",
    "encode_plane",
    "hub_namespace",
    "is_label_value",
    "policy_name",
];

/// What a text names of that, tests aside.
fn deciding(text: &str) -> Vec<String> {
    let mut paths: Vec<String> = source::paths(text).into_iter().collect();
    paths.retain(|path| {
        path.strip_prefix("fedhub_core::names::").is_some_and(|name| DECIDING.contains(&name))
    });
    paths
}

#[test]
fn a_rule_beside_a_plan_is_found_however_it_is_written() {
    for text in [
        "use fedhub_core::names::SOURCE_UID;",
        "use fedhub_core::names::{self, CITY_CODE, is_label_value};",
        "fn f(city: &str) -> bool { fedhub_core::names::is_label_value(city) }",
    ] {
        assert_eq!(deciding(text).len(), 1, "{text}: {:?}", deciding(text));
    }
    for text in [
        "use fedhub_core::names::{CITY_CODE, PlaneName};",
        "use fedhub_federator::hub_namespace::HubNamespace;",
        "#[cfg(test)]\nmod tests {\n    use fedhub_core::names::SOURCE;\n}",
    ] {
        assert!(deciding(text).is_empty(), "{text}: {:?}", deciding(text));
    }
}

#[test]
fn what_reads_plans_decides_no_rule_beside_them() {
    let mut found = Vec::new();
    for (folder, reads) in READERS {
        let files = source::files(&repository().join(folder));
        for file in reads {
            assert!(files.iter().any(|(name, _)| name == file), "there is no {folder}/{file}");
        }
        let judged =
            files.iter().filter(|(name, _)| !reads.contains(&name.as_str()) && !name.contains("tests"));
        for (name, text) in judged {
            found.extend(deciding(text).into_iter().map(|path| format!("{folder}/{name}: {path}")));
        }
    }
    assert!(found.is_empty(), "a plan decides by these, and its verdict says it:\n{}", found.join("\n"));
}
