//! Names, and what may be one.

use proptest::prelude::*;

use super::syntax::{LABEL_VALUE_MAX, ROOT_CA, UID_MAX};
use super::*;

#[test]
fn i6_a_request_may_name_a_hub_namespace_only() {
    assert!(is_hub_namespace(&hub_namespace("0d0c6a3e-9f2b-4c55-8a1e-000000000001")));
    for name in ["", "ns-", "kube-system", "ns-a b", "ns-a/b", "ns-a?b", "ns-a%2fb", "ns-..", "ns-A", "ns-a#"]
    {
        assert!(!is_hub_namespace(name), "{name}");
    }
}

#[test]
fn i14_a_uid_is_harmless_wherever_it_is_put() {
    for uid in ["0d0c6a3e-9f2b-4c55-8a1e-000000000001", "a", "UID-1", &"a".repeat(63)] {
        assert!(is_uid(uid), "{uid}");
    }
    let long = ["a".repeat(64), "a".repeat(2 << 20)];
    let hostile =
        ["", "a b", "a/b", "a?b", "a%2fb", "..", "a.b", "a\"b", "a\nb", "\u{1b}[2J", "a_b", "é", "a#", "a:b"];
    for uid in long.iter().map(String::as_str).chain(hostile) {
        assert!(!is_uid(uid), "{uid:.20}");
    }
}

#[test]
fn i14_a_name_is_one_segment_of_a_path() {
    for name in ["web", "kube-root-ca.crt", "system:node", "a_b", &"a".repeat(253)] {
        assert!(is_path_segment(name), "{name}");
    }
    let long = "a".repeat(254);
    for name in ["", ".", "..", "a/b", "a?b", "a%2fb", "a#b", "a b", "a\n", "é", &long] {
        assert!(!is_path_segment(name), "{name:.20}");
    }
}

#[test]
fn plane_names_are_refused_where_the_label_cannot_carry_them() {
    assert_eq!(PlaneName::new(""), Err(InvalidPlaneName::Empty));
    assert!(matches!(PlaneName::new("a_b"), Err(InvalidPlaneName::Ambiguous(_))));
    assert!(matches!(PlaneName::new("org/p"), Err(InvalidPlaneName::Ambiguous(_))));
    assert!(matches!(PlaneName::new(&"x".repeat(56)), Err(InvalidPlaneName::NotALabel(_))));
    assert!(PlaneName::new(&"x".repeat(55)).is_ok());
    assert!(matches!(PlaneName::new("a b"), Err(InvalidPlaneName::NotALabel(_))));
}

#[test]
fn w5_a_template_refers_to_what_a_copy_of_can_reach_a_cell() {
    assert!(is_referenceable("ConfigMap", "app") && is_referenceable("Secret", ROOT_CA));
    assert!(!is_referenceable("ConfigMap", ROOT_CA));
    for kind in ["ConfigMap", "Secret"] {
        let longest = "a".repeat(travelling_name_max(kind));
        assert!(is_referenceable(kind, &longest) && !is_referenceable(kind, &format!("{longest}a")));
        assert!(REFERENCE_RULE.contains(&longest.len().to_string()), "{kind}");
    }
    assert!(REFERENCE_RULE.contains(ROOT_CA));
    assert!(INSTANCE_TYPE_NAME_RULE.contains(&travelling_name_max("InstanceType").to_string()));
}

/// What Karmada 1.16 makes of the name of an object: `GenerateBindingName` and `GenerateWorkName` of its
/// `pkg/util/names`, the latter with the longest hash that there is.
#[test]
fn w5_the_longest_names_are_those_that_karmada_can_make_others_of() {
    let derived = |kind: &str, name: &str| [binding_name(kind, name), format!("{name}-{}", u32::MAX)];
    for kind in ["ConfigMap", "Secret", "InstanceType", "WorkloadDeployment", "Namespace"] {
        let longest = "a".repeat(travelling_name_max(kind));
        assert!(derived(kind, &longest).iter().all(|name| is_object_name(name)), "{kind}");
        let longer = format!("{longest}a");
        assert!(derived(kind, &longer).iter().any(|name| !is_object_name(name)), "{kind}");
    }
    // What is a label value, and a hub namespace, is far from that.
    assert!(LABEL_VALUE_MAX < travelling_name_max("WorkloadDeployment"));
    assert!("ns-".len() + UID_MAX < travelling_name_max("Namespace"));
}

#[test]
fn labels_of_older_writers_are_read_by_their_last_segment() {
    for (label, name) in [
        ("cluster-single", Some("single")),
        ("cluster-org_project", Some("project")),
        ("cluster-_test-project-abc", Some("test-project-abc")),
        ("cluster-", None),
        ("single", None),
        ("", None),
    ] {
        assert_eq!(decode_plane(label).as_ref().map(PlaneName::as_str), name, "{label}");
    }
}

#[test]
fn w1_a_deployment_is_named_by_workload_placement_and_city() {
    assert_eq!(deployment_name("web", "us", "DFW"), "web-us-dfw");
    let long = "w".repeat(55);
    let longer = "w".repeat(60);
    assert_eq!(deployment_name(&long, "us", "DFW"), format!("{long}-us-dfw"));
    let cut = deployment_name(&longer, "us", "DFW");
    assert!(cut.len() == 63 && cut.starts_with(&longer[..52]), "{cut}");
    assert_ne!(cut, deployment_name(&longer, "us", "ORD"));
    assert_ne!(cut, deployment_name(&longer, "eu", "DFW"));
    // What is hashed is stored: it is the same in every version.
    assert_eq!(deployment_name("web", "us", "New York"), "web-us-new-york-1bfa54897e");
    assert_eq!(deployment_name("w", "", "-"), deployment_name("w", "", "-"));
    assert_eq!(revision_history(&"w".repeat(63)).unwrap().len(), 39 + 63);
    assert_eq!(revision_history(&"w".repeat(220)), None);
}

proptest! {
    #[test]
    fn w1_every_deployment_has_a_valid_name(
        workload in "[a-z]([a-z0-9.-]{0,80}[a-z0-9])?",
        placement in "[a-z]([a-z0-9-]{0,60}[a-z0-9])?",
        city in "\\PC{0,70}",
    ) {
        let name = deployment_name(&workload, &placement, &city);
        prop_assert!(name.len() <= 63 && is_object_name(&name), "{}", name);
    }
}

#[test]
fn policy_names_keep_cities_apart() {
    assert_eq!(policy_name("DFW", |_| false), "city-dfw");
    assert!(policy_name("dfw", |n| n == "city-dfw").starts_with("city-dfw-"));
    assert_ne!(policy_name("a_b", |_| false), policy_name("a.-b", |_| false));
    assert_ne!(policy_name("dfw", |_| true), policy_name("DFW", |_| true));
}

proptest! {
    #[test]
    fn a_plane_name_survives_its_label(name in "[a-z0-9]([-a-z0-9.]{0,40}[a-z0-9])?") {
        let plane = PlaneName::new(&name).unwrap();
        prop_assert_eq!(decode_plane(&encode_plane(&plane)), Some(plane));
    }

    #[test]
    fn every_city_code_has_a_valid_policy_name(city in "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", taken: bool) {
        prop_assert!(is_label_value(&city));
        let name = policy_name(&city, |_| taken);
        prop_assert!(is_object_name(&name), "{}", name);
    }
}
