//! What was decided of a rollout comes back as it was written, and its conditions say it.

use std::time::Duration;

use fedhub_api::conditions::{find, said};
use fedhub_api::{WorkloadRolloutStatus, crds};
use fedhub_core::object::{Object, set_field};
use fedhub_rollout::{
    Approval, Approved, Cause, CityState, CityStatus, Direction, Gate, Revision, Status, Verdict, Wave,
};
use fedhub_workload::rollouts::{spec, status};
use jiff::Timestamp;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::rollouts::fixtures::{DEPLOYMENTS, rollout};

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn name() -> impl Strategy<Value = Box<str>> {
    "[a-z][a-z0-9-]{0,20}[a-z]".prop_map(Into::into)
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0..4_000_000_000_i64).prop_map(|seconds| Timestamp::from_second(seconds).unwrap())
}

fn revision() -> impl Strategy<Value = Option<Revision>> {
    option::of((0..i64::MAX as u64).prop_map(Revision))
}

fn wave() -> impl Strategy<Value = Wave> {
    let approval = prop_oneof![Just(Approval::None), Just(Approval::Before), Just(Approval::After)];
    (name(), vec(name(), 0..5), approval, 0..2_592_000_u64, 1..5000_usize, 0..5000_usize).prop_map(
        |(name, deployments, approval, soak, max_concurrent, max_failures)| Wave {
            name,
            deployments,
            approval,
            soak: Duration::from_secs(soak),
            max_concurrent,
            max_failures,
        },
    )
}

fn state() -> impl Strategy<Value = CityState> {
    prop_oneof![
        Just(CityState::Waiting),
        Just(CityState::Updating),
        Just(CityState::Soaking),
        Just(CityState::Complete),
        Just(CityState::Failed),
        Just(CityState::Skipped),
    ]
}

fn cause() -> impl Strategy<Value = Cause> {
    ("[A-Z][A-Za-z]{0,30}", "[ -~äöü]{0,200}")
        .prop_map(|(reason, message)| Cause { reason: reason.into(), message: message.into() })
}

fn city() -> impl Strategy<Value = CityStatus> {
    let names = (name(), "[A-Z]{3}", name());
    (names, state(), revision(), revision(), time(), option::of(cause())).prop_map(
        |((deployment, city, wave), state, revision, last_good, since, cause)| CityStatus {
            deployment,
            city: city.into(),
            wave,
            state,
            revision,
            last_good,
            since,
            cause,
        },
    )
}

fn gate() -> impl Strategy<Value = Gate> {
    prop_oneof![Just(Gate::Before), Just(Gate::After)]
}

fn approved() -> impl Strategy<Value = Approved> {
    (name(), gate(), "[ -~]{0,40}", time()).prop_map(|(wave, gate, by, at)| Approved {
        wave,
        gate,
        by: by.into(),
        at,
    })
}

fn any_status() -> impl Strategy<Value = Status> {
    let direction = prop_oneof![Just(Direction::Forward), Just(Direction::Back), Just(Direction::Abort)];
    let target = (0..i64::MAX as u64).prop_map(Revision);
    let strategy = prop_oneof![
        Just(None),
        Just(Some(fedhub_rollout::Strategy::InOrder)),
        Just(Some(fedhub_rollout::Strategy::AllAtOnce)),
        Just(Some(fedhub_rollout::Strategy::External)),
    ];
    (target, direction, strategy, vec(wave(), 0..4), vec(city(), 0..5), vec(approved(), 0..4)).prop_map(
        |(target, direction, strategy, plan, cities, approvals)| Status {
            target: Some(target),
            direction,
            strategy,
            plan,
            cities,
            approvals,
        },
    )
}

fn any_verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        Just(Verdict::Complete),
        Just(Verdict::Progressing),
        Just(Verdict::Paused),
        (name(), gate()).prop_map(|(wave, gate)| Verdict::AwaitingApproval { wave, gate }),
        (name(), cause()).prop_map(|(deployment, cause)| Verdict::Stalled { deployment, cause }),
    ]
}

/// The object with that status, as its plane stores it.
fn with_status(mut object: Object, status: Value) -> Object {
    set_field(&mut object, "status", status);
    object
}

fn waves() -> Object {
    rollout(json!([{"name": "rest"}]))
}

/// Whether a value is one of a schema, as far as bounds of texts, numbers and lists go.
fn fits(at: &str, schema: &Value, value: &Value) -> Result<(), String> {
    let length = |value: &Value| value.as_str().map(|text| text.chars().count() as u64);
    let count = value.as_array().map(|items| items.len() as u64);
    let over =
        |limit: &str, found: Option<u64>| found.zip(schema[limit].as_u64()).is_some_and(|(n, most)| n > most);
    let under = length(value).zip(schema["minLength"].as_u64()).is_some_and(|(n, least)| n < least);
    if over("maxLength", length(value)) || over("maxItems", count) || under {
        return Err(format!("{at} is out of bounds: {value}"));
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        let known = &schema["properties"][name];
        if known.is_null() {
            return Err(format!("{at}.{name} is in no schema"));
        }
        fits(&format!("{at}.{name}"), known, inner)?;
    }
    value.as_array().into_iter().flatten().try_for_each(|item| fits(at, &schema["items"], item))
}

fn schema() -> Value {
    let crds = crds::all().unwrap();
    let crd = crds.iter().find(|crd| crd.spec.names.kind == "WorkloadRollout").unwrap();
    let schema = serde_json::to_value(&crd.spec.versions[0].schema).unwrap();
    schema["openAPIV3Schema"]["properties"]["status"].clone()
}

proptest! {
    #[test]
    fn r10_what_is_written_is_read_again(decided in any_status(), verdict in any_verdict()) {
        let rendered = status::render(&waves(), &decided, &verdict, now());
        let stored = with_status(waves(), rendered.clone());
        prop_assert_eq!(status::read(&stored), decided.clone());
        // A second pass over the same writes nothing.
        let later = now() + Duration::from_mins(1);
        prop_assert_eq!(status::render(&stored, &decided, &verdict, later), rendered.clone());
        prop_assert!(WorkloadRolloutStatus::deserialize(&rendered).is_ok());
        prop_assert_eq!(fits("status", &schema(), &rendered), Ok(()));
    }

    #[test]
    fn r10_texts_of_others_are_cut_and_plain(message in any::<String>(), reason in any::<String>()) {
        let cause = Cause { reason: reason.into(), message: message.repeat(50).into() };
        let city = CityStatus {
            deployment: "web-us-dfw".into(),
            city: "DFW".into(),
            wave: "rest".into(),
            state: CityState::Failed,
            revision: None,
            last_good: None,
            since: now(),
            cause: Some(cause.clone()),
        };
        let decided = Status { target: Some(Revision(1)), cities: vec![city], ..Status::default() };
        let verdict = Verdict::Stalled { deployment: "web-us-dfw".into(), cause };
        let rendered = status::render(&waves(), &decided, &verdict, now());
        prop_assert_eq!(fits("status", &schema(), &rendered), Ok(()));
        for field in ["reason", "message"] {
            let shown = rendered["cities"][0]["cause"][field].as_str().unwrap();
            prop_assert!(!shown.contains(char::is_control), "{:?}", shown);
        }
        let stored = with_status(waves(), rendered.clone());
        prop_assert_eq!(status::render(&stored, &status::read(&stored), &verdict, now()), rendered);
    }
}

#[test]
fn r10_what_others_wrote_into_the_status_stays() {
    let others = json!({"theirs": {"a": 1}, "conditions": [{"type": "Theirs", "status": "True"}]});
    let object = with_status(waves(), others);
    let rendered = status::render(&object, &Status::default(), &Verdict::Complete, now());
    assert_eq!(rendered["theirs"], json!({"a": 1}));
    assert_eq!(rendered["conditions"].as_array().unwrap().len(), 4);
    assert_eq!(rendered["observedGeneration"], 3);
    assert_eq!(rendered.get("plan").or(rendered.get("targetRevision")), None);
}

#[test]
fn r10_a_status_that_cannot_be_read_counts_as_none() {
    for broken in [
        json!([]),
        json!({"plan": 7, "cities": [{"deployment": 1}], "direction": "Up", "targetRevision": -1}),
    ] {
        assert_eq!(status::read(&with_status(waves(), broken)), Status::default());
    }
}

fn conditions(rendered: &Value) -> Vec<String> {
    ["Progressing", "Stalled", "Complete"]
        .map(|kind| {
            let (status, reason, _) = said(find(rendered, kind).unwrap());
            format!("{kind}={status} {reason}")
        })
        .to_vec()
}

#[test]
fn r6_conditions_say_where_a_rollout_stands() {
    let cause = Cause { reason: "ImageUnavailable".into(), message: "no such image".into() };
    let rolled_back = Verdict::RolledBack { deployment: "web-us-dfw".into(), cause: cause.clone() };
    let stalled = Verdict::Stalled { deployment: "web-us-dfw".into(), cause };
    for (direction, verdict, expected) in [
        (
            Direction::Forward,
            Verdict::Progressing,
            ["True WaveInProgress", "False WaveInProgress", "False WaveInProgress"],
        ),
        (
            Direction::Forward,
            Verdict::Complete,
            ["False RolloutComplete", "False RolloutComplete", "True RolloutComplete"],
        ),
        (
            Direction::Back,
            rolled_back,
            ["False RolloutRolledBack", "False RolloutRolledBack", "False RolloutRolledBack"],
        ),
        (
            Direction::Abort,
            Verdict::Complete,
            ["False RolloutAborted", "False RolloutAborted", "False RolloutAborted"],
        ),
        (
            Direction::Forward,
            Verdict::Paused,
            ["False RolloutPaused", "False RolloutPaused", "False RolloutPaused"],
        ),
        (Direction::Forward, stalled, ["False CityFailed", "True CityFailed", "False CityFailed"]),
        (
            Direction::Forward,
            Verdict::AwaitingApproval { wave: "canary".into(), gate: Gate::Before },
            [
                "False RolloutAwaitingApproval",
                "False RolloutAwaitingApproval",
                "False RolloutAwaitingApproval",
            ],
        ),
    ] {
        let decided = Status { target: Some(Revision(7)), direction, ..Status::default() };
        let rendered = status::render(&waves(), &decided, &verdict, now());
        let expected: Vec<_> = ["Progressing", "Stalled", "Complete"]
            .iter()
            .zip(expected)
            .map(|(kind, it)| format!("{kind}={it}"))
            .collect();
        assert_eq!(conditions(&rendered), expected);
    }
}

#[test]
fn r3_the_awaited_approval_is_said_until_it_is_there() {
    let decided = Status { target: Some(Revision(7)), ..Status::default() };
    for (gate, side, message) in [
        (Gate::Before, "Before", "The wave \"canary\" requires approval before its first city"),
        (Gate::After, "After", "The wave \"canary\" requires approval after its last city"),
    ] {
        let verdict = Verdict::AwaitingApproval { wave: "canary".into(), gate };
        let waits = status::render(&waves(), &decided, &verdict, now());
        assert_eq!(waits["awaiting"], json!({"wave": "canary", "gate": side}));
        let found = said(find(&waits, "Progressing").unwrap()).2;
        assert!(found.starts_with(message), "{found}");
        let stored = with_status(waves(), waits);
        let goes_on = status::render(&stored, &decided, &Verdict::Progressing, now());
        let is_stopped = status::invalid(&stored, &[], now());
        assert!(goes_on["awaiting"].is_null() && is_stopped["awaiting"].is_null());
    }
}

#[test]
fn r6_messages_say_what_is_wrong_and_who_has_to_act() {
    let cause = Cause { reason: "ImageUnavailable".into(), message: "no such image".into() };
    let stalled = Verdict::Stalled { deployment: "web-us-dfw".into(), cause };
    let message = |rendered: &Value| said(find(rendered, "Stalled").unwrap()).2.to_owned();
    let found = message(&status::render(&waves(), &Status::default(), &stalled, now()));
    let expected =
        "The city of \"web-us-dfw\" failed by ImageUnavailable: no such image. Action required by the user: ";
    assert!(found.starts_with(expected), "{found}");

    let unknown = rollout(json!([{"name": "a", "cities": ["AAA", "BBB", "CCC", "EEE"]}, {"name": "b"}]));
    let faults = spec::policy(&unknown, &DEPLOYMENTS, false).unwrap_err();
    let kept = json!({"targetRevision": 7});
    let rendered = status::invalid(&with_status(unknown, kept), &faults, now());
    assert_eq!(rendered["targetRevision"], 7);
    assert_eq!(
        conditions(&rendered),
        ["Progressing=False InvalidRollout", "Stalled=True InvalidRollout", "Complete=False InvalidRollout"]
    );
    let found = message(&rendered);
    assert!(found.contains("Not found: \"AAA\"") && found.contains("and 1 more faults"), "{found}");
    assert!(found.ends_with("Action required by the user: correct the WorkloadRollout"), "{found}");
}

#[test]
fn r6_a_rollout_on_its_way_says_how_far_it_is() {
    let wave = |name: &str, deployments: &[&str]| Wave {
        name: name.into(),
        deployments: deployments.iter().map(|it| (*it).into()).collect(),
        approval: Approval::None,
        soak: Duration::ZERO,
        max_concurrent: 1,
        max_failures: 0,
    };
    let city = |deployment: &str, state| CityStatus {
        deployment: deployment.into(),
        city: "DFW".into(),
        wave: "rest".into(),
        state,
        revision: None,
        last_good: None,
        since: now(),
        cause: None,
    };
    let decided = Status {
        target: Some(Revision(7)),
        plan: vec![wave("canary", &["a"]), wave("rest", &["b", "c"])],
        cities: vec![
            city("a", CityState::Complete),
            city("b", CityState::Complete),
            city("c", CityState::Updating),
        ],
        ..Status::default()
    };
    let rendered = status::render(&waves(), &decided, &Verdict::Progressing, now());
    let (_, _, message) = said(find(&rendered, "Progressing").unwrap());
    assert_eq!(message, "Wave \"rest\", 2 of 2: 1 of 2 cities complete");
}
