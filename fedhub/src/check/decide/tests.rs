//! Facts of an installation in order, edits of them, and the findings.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use fedhub_core::object::Object;
use fedhub_planes::discovery::expiry::{Credential, CredentialEnd};
use fedhub_planes::pauses::stored::{Pause, PausedPlanes};
use fedhub_testing::{Messages, assert_messages};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use strum::VariantArray;

use super::super::carried::{KARMADA, SINCE_1_14, interpreter, policies};
use super::super::facts::{Admission, Clocks, Facts, HubFacts, OwnCell, PlaneFacts, Served};
use super::super::finding::{CheckId, Finding, Part, PlaneName, State};
use super::super::rights::{Object as Granted, Right};
use super::super::schema::{Ours, ours};
use super::decide;
use crate::check::gather::exempt;
use crate::operator::read::{Failure, Read, ReadError};

const NOW: &str = "2026-01-02T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn object(value: Value) -> Object {
    serde_json::from_value(value).unwrap()
}

fn failed<T>(failure: Failure) -> Read<T> {
    Read::Failed(ReadError { failure, message: "the error in words".to_owned() })
}

fn cluster(name: &str, city: &str) -> Object {
    object(json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": name, "labels": {"topology.datum.net/city-code": city}},
    }))
}

fn right(verb: &str) -> Right {
    let object = Granted::Resource { group: String::new(), resource: "namespaces".to_owned(), name: None };
    Right { role: "deploy/role.yaml", verb: verb.to_owned(), object, namespace: None }
}

/// The kinds that the program carries are the same for every plane of every case, and take long to make.
static OURS: LazyLock<Arc<Ours>> = LazyLock::new(|| Arc::new(ours().unwrap().on(false, true)));

fn served() -> Served {
    Served {
        versions: vec![OURS.version.clone()],
        resources: OURS.kinds.iter().map(|it| it.plural.clone()).collect(),
        lacking: Read::Found(OURS.kinds.iter().map(|it| (it.kind.clone(), Vec::new())).collect()),
    }
}

fn plane(name: PlaneName) -> PlaneFacts {
    PlaneFacts {
        server: "https://example.com".to_owned(),
        version: Read::Found("v1.36.0".to_owned()),
        clocks: Some(Clocks { server: now(), sent: now(), answered: now() }),
        rights: vec![(right("get"), Read::Found(true)), (right("list"), Read::Found(true))],
        ours: OURS.clone(),
        served: Read::Found(served()),
        identities: vec![format!("uid-{}", name.name)],
        ..PlaneFacts::new(name)
    }
}

fn in_order() -> Facts {
    let mut karmada: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (version, plural) in KARMADA.iter().chain([&SINCE_1_14]) {
        karmada.entry((*version).to_owned()).or_default().push((*plural).to_owned());
    }
    let interpreter = interpreter().unwrap();
    let hub = HubFacts {
        karmada: karmada.into_iter().map(|(version, all)| (version, Read::Found(all))).collect(),
        clusters: Read::Found(vec![cluster("cell-dfw", "DFW"), cluster("cell-ord", "ORD")]),
        cities: Read::Found([("DFW".to_owned(), 3)].into()),
        interpreters: Read::Found(vec![object(interpreter.clone())]),
        interpreter,
        policies: policies()
            .unwrap()
            .into_iter()
            .map(|ours| (ours.clone(), Read::Found(object(ours))))
            .collect(),
        cells: Read::Found(entries(&json!({"cell-dfw": "DFW/uid-cell", "cell-ord": "ORD/uid-2"}))),
    };
    let management = PlaneName::from_part(Part::Management);
    let project = PlaneName::project(Part::Project, "a");
    Facts {
        now: now(),
        pre: false,
        paused: Read::Found(PausedPlanes::default()),
        planes: vec![
            plane(management.clone()),
            plane(PlaneName::from_part(Part::Hub)),
            plane(PlaneName::from_part(Part::Cell)),
            plane(project),
            plane(PlaneName::project(Part::Project, "b")),
        ],
        discovered: vec![(management, Read::Found(2))],
        hub: Some(hub),
        remembered: Read::Found([("a".to_owned(), "uid-a".to_owned())].into()),
        cell: None,
    }
}

fn hub(facts: &mut Facts) -> &mut HubFacts {
    facts.hub.as_mut().unwrap()
}

fn first(facts: &mut Facts) -> &mut PlaneFacts {
    &mut facts.planes[0]
}

fn clock(facts: &mut Facts, ahead: i64) {
    let server = now() + SignedDuration::from_secs(ahead);
    first(facts).clocks = Some(Clocks { server, sent: now(), answered: now() });
}

fn ends(facts: &mut Facts, hours: i64) {
    let at = Some(now() + SignedDuration::from_hours(hours));
    first(facts).ends = vec![CredentialEnd { of: Credential::ClientCertificate, since: None, at }];
}

/// Webhooks as `deploy/` has them, and who fedhub is.
fn admission(facts: &mut Facts, user: &str) {
    let text = include_str!("../../../../deploy/components/webhooks-project-plane/webhooks.yaml");
    let objects: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    let configuration = objects.iter().find(|it| it["kind"] == "ValidatingWebhookConfiguration").unwrap();
    first(facts).admission = Read::Found(Admission { user: user.to_owned(), exempt: exempt(configuration) });
}

fn own(facts: &mut Facts, name: &str, city: &str) {
    facts.cell = Some(OwnCell { name: name.to_owned(), city: Some(city.to_owned()) });
}

/// The check that changes, its state, and what changes it.
type Case = (CheckId, State, fn(&mut Facts));

const PLANES: &[Case] = &[
    (CheckId::Kubeconfig, State::Failed, |f| first(f).refused = Some("no such file".to_owned())),
    (CheckId::Paused, State::Failed, |f| f.paused = failed(Failure::Forbidden)),
    (CheckId::Paused, State::Warning, |f| {
        let reason = Some("etcd maintenance".to_owned());
        let planes = [("project-a".to_owned(), Pause { reason, ..Pause::default() })].into();
        f.paused = Read::Found(PausedPlanes { all: Some(Pause::default()), planes });
    }),
    (CheckId::Reachable, State::Failed, |f| first(f).version = failed(Failure::Unreachable)),
    (CheckId::Reachable, State::Failed, |f| first(f).version = failed(Failure::Unauthorized)),
    (CheckId::Reachable, State::Ok, |f| first(f).version = failed(Failure::Forbidden)),
    (CheckId::Clock, State::Ok, |f| clock(f, 5)),
    (CheckId::Clock, State::Warning, |f| clock(f, 6)),
    (CheckId::Clock, State::Ok, |f| clock(f, -6)),
    (CheckId::Clock, State::Warning, |f| clock(f, -7)),
    (CheckId::Clock, State::Skipped, |f| first(f).clocks = None),
    (CheckId::Credentials, State::Ok, |f| ends(f, 14 * 24)),
    (CheckId::Credentials, State::Warning, |f| ends(f, 14 * 24 - 1)),
    (CheckId::Credentials, State::Failed, |f| ends(f, 0)),
    (CheckId::Credentials, State::Warning, |f| {
        first(f).ends = vec![CredentialEnd { of: Credential::Authority, since: None, at: None }];
    }),
    (CheckId::Rights, State::Failed, |f| first(f).rights[1].1 = Read::Found(false)),
    (CheckId::Rights, State::Failed, |f| {
        let events = Granted::Resource {
            group: "events.k8s.io".to_owned(),
            resource: "events".to_owned(),
            name: None,
        };
        let right = Right { object: events, ..right("create") };
        first(f).rights.push((right, Read::Found(false)));
    }),
    (CheckId::Rights, State::Skipped, |f| first(f).rights[1].1 = failed(Failure::Forbidden)),
    (CheckId::Crds, State::Failed, |f| first(f).served = Read::Found(Served::default())),
    (CheckId::Crds, State::Skipped, |f| first(f).served = failed(Failure::Forbidden)),
    (CheckId::Crds, State::Failed, |f| {
        first(f).served = Read::Found(Served { versions: vec!["v1beta1".to_owned()], ..served() });
    }),
    (CheckId::Crds, State::Failed, |f| {
        first(f).served = Read::Found(Served { resources: vec!["workloads".to_owned()], ..served() });
    }),
    // What only users write.
    (CheckId::Crds, State::Warning, |f| {
        let resources = ["instances", "workloaddeployments"].map(str::to_owned).to_vec();
        first(f).served = Read::Found(Served { resources, ..served() });
    }),
    (CheckId::Crds, State::Skipped, |f| {
        first(f).served = Read::Found(Served { lacking: failed(Failure::Forbidden), ..served() });
    }),
    (CheckId::Crds, State::Failed, |f| {
        let Read::Found(served) = &mut first(f).served else { panic!("not found") };
        let Read::Found(lacking) = &mut served.lacking else { panic!("not found") };
        lacking.insert("Instance".to_owned(), vec!["status.conditions".to_owned()]);
    }),
    (CheckId::Admission, State::Ok, |f| admission(f, "system:serviceaccount:fedhub-system:fedhub")),
    (CheckId::Admission, State::Failed, |f| admission(f, "fedhub")),
    (CheckId::Admission, State::Warning, |f| first(f).admission = Read::Absent),
    (CheckId::Admission, State::Skipped, |f| first(f).admission = failed(Failure::Forbidden)),
    (CheckId::Discovery, State::Warning, |f| f.discovered[0].1 = Read::Found(0)),
    (CheckId::Discovery, State::Failed, |f| f.discovered[0].1 = failed(Failure::Forbidden)),
    (CheckId::PlaneIdentities, State::Failed, |f| {
        f.remembered = Read::Found([("a".to_owned(), "uid-of-another".to_owned())].into());
    }),
    (CheckId::PlaneIdentities, State::Failed, |f| f.planes[4].identities = vec!["uid-a".to_owned()]),
    (CheckId::PlaneIdentities, State::Skipped, |f| f.remembered = failed(Failure::Forbidden)),
];

const HUB: &[Case] = &[
    (CheckId::Karmada, State::Failed, |f| hub(f).karmada[0].1 = Read::Absent),
    (CheckId::Karmada, State::Skipped, |f| hub(f).karmada[0].1 = failed(Failure::Forbidden)),
    (CheckId::Karmada, State::Warning, |f| {
        let all = hub(f).karmada.iter_mut().find(|(version, _)| version == SINCE_1_14.0).unwrap();
        all.1 = Read::Found(vec!["propagationpolicies".to_owned()]);
    }),
    (CheckId::Interpreter, State::Failed, |f| hub(f).interpreters = Read::Found(Vec::new())),
    (CheckId::Interpreter, State::Skipped, |f| hub(f).interpreters = failed(Failure::Forbidden)),
    (CheckId::Interpreter, State::Failed, |f| {
        let mut other = interpreter().unwrap();
        other["spec"]["customizations"]["retention"]["luaScript"] = json!("other");
        hub(f).interpreters = Read::Found(vec![object(other)]);
    }),
    (CheckId::Interpreter, State::Warning, |f| {
        let mut other = interpreter().unwrap();
        other["metadata"]["name"] = json!("other");
        hub(f).interpreters = Read::Found(vec![object(other)]);
    }),
    (CheckId::AdmissionPolicies, State::Failed, |f| hub(f).policies[0].1 = Read::Absent),
    (CheckId::AdmissionPolicies, State::Skipped, |f| hub(f).policies[0].1 = failed(Failure::Forbidden)),
    (CheckId::AdmissionPolicies, State::Failed, |f| {
        let mut other = hub(f).policies[0].0.clone();
        other["spec"]["failurePolicy"] = json!("Ignore");
        hub(f).policies[0].1 = Read::Found(object(other));
    }),
    (CheckId::Cities, State::Failed, |f| {
        hub(f).clusters = Read::Found(vec![cluster("cell-dfw", "DFW"), cluster("cell-2", "DFW")]);
    }),
    (CheckId::Cities, State::Warning, |f| hub(f).cities = Read::Found([("LHR".to_owned(), 1)].into())),
    (CheckId::Cities, State::Warning, |f| {
        let Read::Found(clusters) = &mut hub(f).clusters else { panic!("not found") };
        clusters.push(cluster("cell-3", ""));
    }),
    (CheckId::Cities, State::Skipped, |f| hub(f).clusters = failed(Failure::Forbidden)),
    (CheckId::Cities, State::Failed, |f| own(f, "cell-x", "DFW")),
    (CheckId::Cities, State::Failed, |f| own(f, "cell-dfw", "ORD")),
    (CheckId::Cities, State::Ok, |f| own(f, "cell-dfw", "DFW")),
    (CheckId::CellIdentities, State::Failed, |f| hub(f).cells = Read::Absent),
    (CheckId::CellIdentities, State::Skipped, |f| hub(f).cells = failed(Failure::Forbidden)),
    (CheckId::CellIdentities, State::Warning, |f| {
        let Read::Found(cells) = &mut hub(f).cells else { panic!("not found") };
        cells.data["data"] = json!({"cell-dfw": "DFW/uid-cell"});
    }),
    (CheckId::CellIdentities, State::Failed, |f| {
        own(f, "cell-dfw", "DFW");
        f.planes[2].identities = vec!["uid-of-another".to_owned()];
    }),
    (CheckId::CellIdentities, State::Ok, |f| recorded(f, "uid-2")),
    (CheckId::CellIdentities, State::Failed, |f| recorded(f, "uid-of-another")),
    (CheckId::CellIdentities, State::Failed, |f| {
        entered(f, &json!({"cell-dfw": "DFW/uid-2", "cell-ord": "ORD/uid-2"}));
    }),
    (CheckId::CellIdentities, State::Failed, |f| {
        entered(f, &json!({"cell-dfw": "DFW/uid-cell", "cell-ord": "ORD/uid-2", "cell-gone": "LHR/uid-3"}));
    }),
    (CheckId::CellIdentities, State::Failed, |f| {
        entered(f, &json!({"cell-dfw": "DFW/uid-cell", "cell-ord": "ORD/uid\"2"}));
    }),
];

fn entries(data: &Value) -> Object {
    object(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fedhub-cells"}, "data": data}),
    )
}

fn entered(facts: &mut Facts, data: &Value) {
    hub(facts).cells = Read::Found(entries(data));
}

/// Karmada recorded that UID for cell-ord.
fn recorded(facts: &mut Facts, uid: &str) {
    let Read::Found(clusters) = &mut hub(facts).clusters else { panic!("not found") };
    clusters[1].data["spec"] = json!({"id": uid});
}

fn worst(findings: &[Finding], check: CheckId) -> Option<State> {
    findings.iter().filter(|it| it.check == check).map(|it| it.state).max()
}

#[test]
fn u4_each_fact_has_its_finding_and_every_fault_a_remedy() {
    assert!(decide(&in_order()).iter().all(|it| it.state == State::Ok), "{:#?}", decide(&in_order()));
    for (at, (check, state, edit)) in PLANES.iter().chain(HUB).enumerate() {
        let mut facts = in_order();
        edit(&mut facts);
        let findings = decide(&facts);
        assert_eq!(worst(&findings, *check), Some(*state), "case {at}, {check:?}: {findings:#?}");
        for finding in &findings {
            let works = matches!(finding.state, State::Ok | State::Skipped);
            assert!(works || !finding.remedy.is_empty(), "{finding:?}");
        }
    }
}

#[test]
fn u4_every_check_has_a_case_and_every_case_changes_one_check() {
    for check in CheckId::VARIANTS {
        let failing = |(of, state, _): &&Case| of == check && *state == State::Failed;
        let softer = |(of, state, _): &&Case| of == check && *state == State::Warning;
        let all = || PLANES.iter().chain(HUB);
        assert!(all().any(|it| failing(&it) || softer(&it)), "{check:?}");
    }
    for (check, _, edit) in PLANES.iter().chain(HUB) {
        let mut facts = in_order();
        edit(&mut facts);
        let others = decide(&facts).into_iter().filter(|it| it.state != State::Ok && it.check != *check);
        // A Cluster without an entry is both.
        let others: Vec<_> = others.filter(|it| it.check != CheckId::CellIdentities).collect();
        assert!(others.is_empty(), "{check:?}: {others:#?}");
    }
}

#[test]
fn u4_what_does_not_answer_is_reported_once() {
    let mut facts = in_order();
    facts.planes[1].version = failed(Failure::Unreachable);
    facts.hub = None;
    let findings = decide(&facts);
    let hub: Vec<_> = findings.iter().filter(|it| it.plane.part == Part::Hub).collect();
    let not_ok: Vec<_> = hub.iter().filter(|it| it.state != State::Ok).map(|it| it.check).collect();
    assert_eq!(not_ok, [CheckId::Reachable], "{hub:#?}");
}

/// What operators read, in `tests/snapshots`.
#[test]
fn u4_findings_read_well() {
    let shown = |(check, _, edit): &Case| {
        let mut facts = in_order();
        edit(&mut facts);
        let finding = decide(&facts).into_iter().filter(|it| it.check == *check).max_by_key(|it| it.state);
        let Finding { state, found, remedy, .. } = finding.unwrap();
        let remedy = if remedy.is_empty() { remedy } else { format!("\n-> {remedy}") };
        (format!("{} {}", check.id(), state.id()), format!("{found}{remedy}"))
    };
    let in_order: BTreeMap<_, _> =
        decide(&in_order()).into_iter().map(|it| (it.check, (it.check.id(), it.found))).collect();
    let mut messages = Messages::default();
    messages.section("Planes", PLANES.iter().map(shown)).section("The hub", HUB.iter().map(shown));
    messages.section("In order", in_order.into_values());
    assert_messages!("check-findings", messages);
}
