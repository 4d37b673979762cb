//! Approvals: of whom they are, and which of them are taken.

use std::time::Duration;

use fedhub_core::object::Object;
use fedhub_rollout::{Approval, Gate, Revision, Status, Wave};
use fedhub_workload::admission::{Fault, rollout::patch};
use fedhub_workload::rollouts::approvals::{requests, take};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::rollouts::fixtures::{approving, rollout};

fn plain(value: &str) -> Object {
    let mut object = rollout(json!([{"name": "canary"}]));
    object.data["status"] = json!({"targetRevision": 7});
    approving(object, value)
}

/// What is stored where eve writes `new` in place of `old`.
fn stored(old: Option<&str>, new: &str) -> Value {
    let patch = patch("eve", old.map(plain).as_ref(), &plain(new));
    let written = match patch.as_slice() {
        [] => new.to_owned(),
        [one] => {
            assert_eq!(one["path"], "/metadata/annotations/compute.datumapis.com~1approved");
            one["value"].as_str().unwrap().to_owned()
        }
        more => panic!("{more:?}"),
    };
    serde_json::from_str(&written).unwrap()
}

#[test]
fn r1_an_approval_is_that_of_the_user_who_adds_it() {
    let eves = json!([{"wave": "canary", "gate": "After", "by": "eve", "revision": 7}]);
    for new in [
        r#"[{"wave": "canary", "gate": "After"}]"#,
        r#"[{"wave": "canary", "gate": "After", "by": "ann"}]"#,
        r#"[{"wave": "canary", "gate": "After", "by": "eve", "revision": 7}]"#,
    ] {
        assert_eq!(stored(None, new), eves, "{new}");
        assert_eq!(stored(Some("[]"), new), eves, "{new}");
    }
}

#[test]
fn r1_an_approval_that_was_there_stays_whose_it_was() {
    let anns = r#"[{"wave": "canary", "gate": "After", "by": "ann", "revision": 7}]"#;
    let kept: Value = serde_json::from_str(anns).unwrap();
    for new in [
        r#"[{"wave": "canary", "gate": "After", "by": "eve", "revision": 7}]"#,
        r#"[{"wave": "canary", "gate": "After", "by": "bob"}]"#,
    ] {
        assert_eq!(stored(Some(anns), new), kept, "{new}");
    }
    let both = r#"[{"wave": "canary", "gate": "After"}, {"wave": "canary", "gate": "Before"}]"#;
    let found = stored(Some(anns), both);
    assert_eq!((&found[0]["by"], &found[1]["by"]), (&json!("ann"), &json!("eve")));
    // The approval of an earlier target is none of this one.
    let earlier = r#"[{"wave": "canary", "gate": "After", "by": "ann", "revision": 6}]"#;
    let again = r#"[{"wave": "canary", "gate": "After"}]"#;
    assert_eq!(stored(Some(earlier), again)[0]["by"], "eve");
}

#[test]
fn r1_what_is_no_approval_is_left_as_it_is_and_refused() {
    let long = format!("[{}]", vec![r#"{"wave":"canary","gate":"After"}"#; 100].join(","));
    for (value, expected) in [
        ("canary", "it must be a JSON array such as"),
        ("{}", "it must be a JSON array such as"),
        (r#"[{"wave": "canary", "gate": "Later"}]"#, "it must be a JSON array such as"),
        (r#"[{"wave": "canary", "gate": "After", "revision": -1}]"#, "it must be a JSON array such as"),
        (r#"[{"wave": "Canary!", "gate": "After"}]"#, "Invalid value: \"Canary!\""),
        (
            r#"[{"wave":"a","gate":"After"},{"wave":"a","gate":"After"}]"#,
            "each gate of a wave is approved once",
        ),
        (&long, "it has at most 62 approvals"),
        (&" ".repeat(70_000), "it has at most 65536 bytes"),
    ] {
        let object = plain(value);
        assert_eq!(patch("eve", None, &object), Vec::<Value>::new());
        let faults: Vec<_> = requests(&object).unwrap_err().iter().map(Fault::to_string).collect();
        assert!(faults.iter().any(|fault| fault.contains(expected)), "{value:.60}: {faults:?}");
    }
    assert_eq!(requests(&rollout(json!([]))), Ok(vec![]));
}

#[test]
fn r1_a_name_of_a_user_is_bounded_and_plain() {
    let by = format!("a\n{}", "b".repeat(300));
    let value = json!([{"wave": "canary", "gate": "After", "by": by}]).to_string();
    let found = requests(&plain(&value)).unwrap();
    assert_eq!(found[0].by.chars().count(), 256);
    assert!(found[0].by.starts_with("a b") && found[0].by.ends_with('…'));
}

#[test]
fn r1_an_approval_is_taken_once_for_its_target_and_its_wave() {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let canary = Wave {
        name: "canary".into(),
        deployments: vec!["web-us-dfw".into()],
        approval: Approval::After,
        soak: Duration::ZERO,
        max_concurrent: 1,
        max_failures: 0,
    };
    let mut status = Status { target: Some(Revision(7)), plan: vec![canary], ..Status::default() };
    for (value, taken) in [
        (r#"[{"wave": "other", "gate": "After", "by": "eve"}]"#, 0),
        (r#"[{"wave": "canary", "gate": "After", "by": "eve", "revision": 6}]"#, 0),
        (r#"[{"wave": "canary", "gate": "After", "by": "eve", "revision": 7}]"#, 1),
        (r#"[{"wave": "canary", "gate": "After", "by": "bob", "revision": 7}]"#, 1),
        ("[]", 1),
    ] {
        take(&requests(&plain(value)).unwrap(), &mut status, now);
        assert_eq!(status.approvals.len(), taken, "{value}");
    }
    let approved = &status.approvals[0];
    assert_eq!((&*approved.by, approved.gate, approved.at), ("eve", Gate::After, now));
}
