//! The next step of one Instance, by what is stored and what was answered.

use std::time::Duration;

use fedhub_core::names::PROVIDER_FINALIZER;
use fedhub_core::object::{Kind, Object, bare, set_field};
use fedhub_provider::plan::{
    Announced, Ask, Call, Failed, Known, Look, PowerWish, Repeated, Seen, Settings, Step, Verdict, plan,
};
use fedhub_provider::record::Record;
use fedhub_provider::{
    AllocationId, Change, Deletion, Failure, FailureKind, Found, Health, Link, Phase, Place, Power, Proof,
    Refusal, Server, ServerId,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

/// An Instance, what is stored of it, and what is known.
#[derive(Clone)]
pub struct World {
    pub instance: Object,
    pub record: Record,
    pub wanted: Result<Place, Refusal>,
    pub change: Option<Change>,
    pub power: PowerWish,
    pub known: Known<u8>,
    pub now: Timestamp,
}

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_900_000_000 + seconds).unwrap()
}

pub fn place(network: &str) -> Place {
    Place { region: "r".into(), project: "p".into(), network: network.into() }
}

pub fn id() -> ServerId {
    ServerId("s1".into())
}

impl World {
    /// An Instance without gates that holds the finalizer; nothing is recorded of it.
    pub fn new() -> Self {
        let mut instance = bare(Kind::Instance, "ns", "web-0");
        instance.metadata.uid = Some("u".to_owned());
        instance.metadata.finalizers = Some(vec![PROVIDER_FINALIZER.to_owned()]);
        set_field(&mut instance, "spec", json!({"controller": {"templateHash": "h"}}));
        Self {
            instance,
            record: Record::default(),
            wanted: Ok(place("n")),
            change: None,
            power: PowerWish { runs: true, restarted: None },
            known: Known::default(),
            now: at(1_000),
        }
    }

    /// One whose server stands, and was asked for long ago.
    pub fn standing() -> Self {
        let mut world = Self::new();
        world.record = Record {
            place: Some(place("n")),
            server: Some(id()),
            server_requested: Some(at(0)),
            allocation: Some(AllocationId("a1".into())),
            allocation_requested: Some(at(0)),
            restarted: None,
        };
        world.see(|_| {});
        world.change = Some(Change::Nothing);
        world
    }

    /// The server as the link wants it.
    pub fn server(&self) -> Server<u8> {
        let link = Link::new(place("n"), &self.instance);
        Server {
            id: id(),
            instance: Some(link.instance),
            name: link.name,
            place: link.place,
            spec: 1,
            phase: Phase::Running,
            settled: true,
            detail: None,
            health: Health::Healthy,
            deleting: None,
            addresses: Vec::new(),
        }
    }

    pub fn see(&mut self, change: impl FnOnce(&mut Server<u8>)) {
        let mut server = self.server();
        change(&mut server);
        self.known.look = Some(Look { server: Some(Box::new(server)), at: self.now });
    }

    pub fn delete(mut self) -> Self {
        self.instance.metadata.deletion_timestamp = Some(Time(self.now));
        self
    }

    pub fn with_spec(mut self, field: &str, value: Value) -> Self {
        self.instance.data["spec"][field] = value;
        self
    }

    pub fn seen(&self) -> Seen<'_, u8> {
        Seen {
            instance: &self.instance,
            record: &self.record,
            wanted: self.wanted.as_ref(),
            change: self.change,
            power: self.power,
            known: &self.known,
            settings: Settings::default(),
            now: self.now,
        }
    }

    fn plan(&self) -> Step {
        plan(&self.seen())
    }

    fn verdict(&self) -> Verdict {
        match self.plan() {
            Step::Rest { verdict, .. } => verdict,
            step => panic!("no rest: {step:?}"),
        }
    }
}

pub fn failed(call: Call, kind: FailureKind, may_have_acted: bool) -> Failed {
    let failure = Failure { kind, message: "no".to_owned(), after: None, may_have_acted };
    Failed { call, failure, times: 1, wait: Duration::from_secs(1) }
}

/// The record that a step stores, and what it announces.
fn stored(step: Step) -> (Record, Option<Announced>) {
    match step {
        Step::Record { record, announces } => (record, announces),
        step => panic!("nothing is stored: {step:?}"),
    }
}

#[test]
fn v1_each_thing_that_is_asked_for_is_recorded_before_it_is_asked_for() {
    let mut world = World::new();
    assert_eq!(world.plan(), Step::Ask(Ask::Reserved));
    world.known.reserved = Some(Vec::new());
    let (record, announces) = stored(world.plan());
    assert_eq!(
        (record.allocation_requested, announces),
        (Some(world.now), Some(Announced::Quota { first: true }))
    );
    assert_eq!(record.place, Some(place("n")));
    world.record = record;
    world.known.announced = announces;
    assert_eq!(world.plan(), Step::Ask(Ask::Reserve));
    world.known.taken = Some(AllocationId("a1".into()));
    world.record = stored(world.plan()).0;
    world.known.announced = None;
    assert_eq!(world.record.allocation, Some(AllocationId("a1".into())));
    assert_eq!(world.plan(), Step::Ask(Ask::Find));
    world.known.found = Some(Found::Unknown);
    let (record, announces) = stored(world.plan());
    assert_eq!(announces, Some(Announced::Server { first: true }));
    assert_eq!((record.server_requested, &record.server), (Some(world.now), &None));
    world.record = record;
    world.known.announced = announces;
    assert_eq!(world.plan(), Step::Ask(Ask::Create));
    world.known.made = Some(id());
    world.record = stored(world.plan()).0;
    assert_eq!(world.record.server, Some(id()));
    assert_eq!(world.plan(), Step::Await(id()), "nothing is done before it is seen");
}

#[test]
fn v1_what_was_recorded_too_long_ago_is_recorded_anew_before_it_is_asked_for() {
    for (passed, late) in [(0, false), (30, false), (31, true), (90, true)] {
        let mut world = World::new();
        world.record =
            Record { place: Some(place("n")), allocation_requested: Some(at(0)), ..Record::default() };
        world.known.announced = Some(Announced::Quota { first: true });
        world.known.announced_at = Some(at(0));
        world.now = at(passed);
        if late {
            let (record, announces) = stored(world.plan());
            assert_eq!(record.allocation_requested, Some(at(passed)));
            assert_eq!(announces, Some(Announced::Quota { first: true }));
        } else {
            assert_eq!(world.plan(), Step::Ask(Ask::Reserve), "{passed}");
        }
        world.record = Record { server: None, server_requested: Some(at(0)), ..World::standing().record };
        world.known.found = Some(Found::Unknown);
        world.known.announced = Some(Announced::Server { first: false });
        if late {
            let (record, announces) = stored(world.plan());
            assert_eq!(record.server_requested, Some(at(passed)));
            assert_eq!(announces, Some(Announced::Server { first: false }));
        } else {
            assert_eq!(world.plan(), Step::Ask(Ask::Create), "{passed}");
        }
    }
}

#[test]
fn v1_a_request_whose_answer_was_lost_is_followed_by_a_search() {
    let mut world = World::new();
    world.record = Record { server: None, ..World::standing().record };
    assert_eq!(world.plan(), Step::Ask(Ask::Find));
    for found in [Found::Unknown, Found::Absent(Proof::NotFound(id()))] {
        world.known.found = Some(found);
        let (record, announces) = stored(world.plan());
        assert_eq!(
            (record.server_requested, announces),
            (Some(world.now), Some(Announced::Server { first: false }))
        );
    }
    world.known.failed = Some(failed(Call::Create, FailureKind::Conflict, false));
    assert!(matches!(world.verdict(), Verdict::Failing(_)), "a taken name is looked for again");
}

#[test]
fn v1_a_request_is_forgotten_only_where_it_was_refused_and_no_other_is_under_way() {
    for (first, kind, may_have_acted, forgotten) in [
        (true, FailureKind::Invalid, false, true),
        (true, FailureKind::Quota, false, true),
        (true, FailureKind::Retry, true, false),
        (true, FailureKind::Conflict, false, false),
        (false, FailureKind::Invalid, false, false),
    ] {
        let mut world = World::new();
        world.record = Record { server: None, ..World::standing().record };
        world.known.announced = Some(Announced::Server { first });
        world.known.failed = Some(failed(Call::Create, kind, may_have_acted));
        let forgets =
            matches!(world.plan(), Step::Record { record, .. } if record.server_requested.is_none());
        assert_eq!(forgets, forgotten, "{first} {kind:?} {may_have_acted}");
    }
}

#[test]
fn v2_a_server_is_adopted_only_where_tag_project_network_and_name_agree() {
    type Edit = fn(&mut Server<u8>);
    let edits: [(&str, Edit, bool); 6] = [
        ("as it is", |_| {}, true),
        ("no tag", |server| server.instance = None, false),
        ("another tag", |server| server.instance = Some("v".into()), false),
        ("another name", |server| server.name = "web-0".into(), false),
        ("another network", |server| server.place.network = "m".into(), false),
        ("another project", |server| server.place.project = "q".into(), false),
    ];
    for (what, edit, ours) in edits {
        for world in [World::new(), World::new().delete()] {
            let mut world = world;
            world.record = Record { server: None, ..World::standing().record };
            let mut server = world.server();
            edit(&mut server);
            world.known.found = Some(Found::One(Box::new(server)));
            if ours {
                assert_eq!(stored(world.plan()).0.server, Some(id()), "{what}");
            } else {
                assert_eq!(world.verdict(), Verdict::Ambiguous(vec![id()]), "{what}");
            }
        }
    }
}

#[test]
fn v2_several_servers_of_one_tag_are_left_alone() {
    let both = vec![id(), ServerId("s2".into())];
    for world in [World::new(), World::new().delete()] {
        let mut world = world;
        world.record = Record { server: None, ..World::standing().record };
        world.known.found = Some(Found::Many(both.clone()));
        assert_eq!(world.verdict(), Verdict::Ambiguous(both.clone()));
    }
}

#[test]
fn v3_a_404_counts_once_no_request_can_be_under_way_any_more() {
    for (looked, now, expected) in [
        (59, 59, Step::Rest { verdict: Verdict::Unproven, again: Some(Duration::from_secs(1)) }),
        (59, 60, Step::Ask(Ask::Get(id()))),
        (60, 60, Step::Ask(Ask::Release(AllocationId("a1".into())))),
    ] {
        for world in [World::standing(), World::standing().delete()] {
            let mut world = world;
            world.known.look = Some(Look { server: None, at: at(looked) });
            world.known.found = Some(Found::Unknown);
            world.now = at(now);
            assert_eq!(world.plan(), expected, "{looked} {now}");
        }
    }
}

#[test]
fn v3_that_nothing_was_found_proves_nothing() {
    let mut world = World::new().delete();
    world.record = Record { server: None, ..World::standing().record };
    assert_eq!(world.plan(), Step::Ask(Ask::Find));
    world.known.found = Some(Found::Unknown);
    assert_eq!(world.verdict(), Verdict::Unproven);
    world.known.found = Some(Found::Absent(Proof::NotFound(id())));
    assert_eq!(world.plan(), Step::Ask(Ask::Release(AllocationId("a1".into()))));
    world.now = at(59);
    assert_eq!(world.verdict(), Verdict::Unproven, "it may still be made");
}

#[test]
fn v4_the_server_goes_then_its_quota_then_the_finalizer() {
    let mut world = World::standing().delete();
    assert_eq!(world.plan(), Step::Ask(Ask::Delete(id())));
    world.see(|server| server.deleting = Some(at(900)));
    assert_eq!(world.verdict(), Verdict::Deleting { since: Some(at(900)) });
    world.known.look = Some(Look { server: None, at: world.now });
    assert_eq!(world.plan(), Step::Ask(Ask::Find), "a server of another ID may stand");
    let another = Server { id: ServerId("s2".into()), ..world.server() };
    world.known.found = Some(Found::One(Box::new(another)));
    assert_eq!(stored(world.plan()).0.server, Some(ServerId("s2".into())));
    world.known.found = Some(Found::One(Box::new(world.server())));
    assert_eq!(world.plan(), Step::Ask(Ask::Release(AllocationId("a1".into()))), "a list that lags");
    world.known.released = Some(Deletion::Accepted);
    assert_eq!(world.verdict(), Verdict::Releasing);
    world.known.released = Some(Deletion::Gone);
    assert_eq!(world.plan(), Step::LetGo);
    world.known.failed = Some(failed(Call::Release, FailureKind::Retry, false));
    world.known.released = None;
    assert!(matches!(world.verdict(), Verdict::Failing(_)));
}

#[test]
fn v4_what_a_search_for_quota_shows_counts_once_it_is_settled() {
    for world in [World::new(), World::new().delete()] {
        let mut world = world;
        world.record =
            Record { place: Some(place("n")), allocation_requested: Some(at(0)), ..Record::default() };
        world.known.reserved = Some(vec![AllocationId("a1".into())]);
        world.now = at(59);
        assert!(matches!(world.verdict(), Verdict::Making | Verdict::Unproven));
        world.now = at(60);
        assert_eq!(stored(world.plan()).0.allocation, Some(AllocationId("a1".into())));
    }
}

#[test]
fn v2_the_provider_is_asked_before_an_instance_goes_of_which_nothing_is_recorded() {
    let mut world = World::new().delete();
    assert_eq!(world.plan(), Step::Ask(Ask::Find));
    world.known.found = Some(Found::Unknown);
    assert_eq!(world.plan(), Step::Ask(Ask::Reserved));
    world.known.reserved = Some(Vec::new());
    assert_eq!(world.plan(), Step::LetGo, "nothing of it is there");

    let requested =
        Record { place: Some(place("n")), allocation_requested: Some(world.now), ..Record::default() };
    world.known.reserved = Some(vec![AllocationId("a1".into())]);
    let quota = Record { allocation: Some(AllocationId("a1".into())), ..requested.clone() };
    assert_eq!(stored(world.plan()), (quota.clone(), None));
    let released = World { record: quota, ..world.clone() };
    assert_eq!(released.plan(), Step::Ask(Ask::Release(AllocationId("a1".into()))));

    world.known.found = Some(Found::One(Box::new(world.server())));
    let server = Record { server: Some(id()), server_requested: Some(world.now), ..requested };
    assert_eq!(stored(world.plan()), (server, None));
    let stranger = Server { name: "web-0".into(), ..world.server() };
    world.known.found = Some(Found::One(Box::new(stranger)));
    assert_eq!(world.verdict(), Verdict::Ambiguous(vec![id()]));
    let both = vec![id(), ServerId("s2".into())];
    world.known.found = Some(Found::Many(both.clone()));
    assert_eq!(world.verdict(), Verdict::Ambiguous(both));
    world.known.failed = Some(failed(Call::Find, FailureKind::Unavailable, false));
    assert!(matches!(world.verdict(), Verdict::Failing(_)));
}

#[test]
fn v2_an_instance_that_can_be_looked_for_nowhere_stays() {
    let refusal = Refusal { by_user: false, message: "no such region".to_owned() };
    let mut world = World::new().delete();
    world.wanted = Err(refusal.clone());
    assert_eq!(world.verdict(), Verdict::Refused(refusal));
    world.record.place = Some(place("n"));
    assert_eq!(world.plan(), Step::Ask(Ask::Find), "where something of it was before");
}

#[test]
fn v4_what_is_known_not_to_be_there_is_not_asked_for() {
    let mut world = World::new().delete();
    world.record.allocation = Some(AllocationId("".into()));
    assert_eq!(world.plan(), Step::LetGo, "a provider without quota");
    world.record = Record { allocation_requested: Some(at(0)), ..Record::default() };
    world.record.place = Some(place("n"));
    assert_eq!(world.plan(), Step::Ask(Ask::Reserved), "its quota may have been taken");
}

#[test]
fn v4_the_finalizer_stands_before_anything_is_asked() {
    let mut world = World::new();
    world.instance.metadata.finalizers = None;
    assert_eq!(world.plan(), Step::Hold);
    assert_eq!(world.delete().verdict(), Verdict::Aside);
}

#[test]
fn v1_a_server_that_somebody_deletes_is_waited_for_and_then_made_anew() {
    let mut world = World::standing();
    world.see(|server| server.deleting = Some(at(900)));
    assert_eq!(world.verdict(), Verdict::Deleting { since: Some(at(900)) });
    world.known.look = Some(Look { server: None, at: world.now });
    world.known.released = Some(Deletion::Gone);
    world.known.found = Some(Found::Unknown);
    let (record, announces) = stored(world.plan());
    assert_eq!((&record.server, &record.allocation), (&None, &None));
    assert_eq!(announces, Some(Announced::Quota { first: false }), "in this very pass");
    world.record = record;
    world.known = Known::default();
    assert_eq!(world.verdict(), Verdict::Making, "or once what was given back is seen no more");
}

#[test]
fn v5_what_destroys_something_is_consented_to_and_announced_before() {
    let disk = json!([{"name": "boot", "disk": {}}]);
    for (change, order) in
        [(Change::Rebuild, Step::Ask(Ask::Update(id()))), (Change::Recreate, Step::Ask(Ask::Delete(id())))]
    {
        let mut world = World::standing().with_spec("volumes", disk.clone());
        world.change = Some(change);
        assert_eq!(world.verdict(), Verdict::Denied(change));
        let mut world = world.with_spec("disruption", json!("Allow"));
        assert_eq!(world.plan(), Step::Announce(change));
        let announced = json!({"conditions": [{"type": "Rebuilding", "status": "True"}]});
        set_field(&mut world.instance, "status", announced);
        assert_eq!(world.plan(), order);
        world.known.ordered = true;
        assert_eq!(world.verdict(), Verdict::Standing, "once, until it is seen");
    }
    let mut world = World::standing().with_spec("volumes", disk);
    world.change = Some(Change::InPlace);
    assert_eq!(world.plan(), Step::Ask(Ask::Update(id())));
    world.change = Some(Change::Nothing);
    world.wanted = Ok(place("m"));
    assert_eq!(world.verdict(), Verdict::Denied(Change::Recreate), "it moves");
}

#[test]
fn v5_only_a_template_that_is_not_taken_over_yet_destroys_a_server() {
    let condition =
        |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason});
    let programmed = condition("Programmed", "True", "Programmed");
    let misconfigured = condition("Programmed", "False", "ProviderMisconfigured");
    let making = condition("Programmed", "False", "Provisioning");
    let rebuilding = condition("Rebuilding", "True", "Rebuilding");
    for (what, observed, conditions, kept) in [
        ("the template is taken over", Some("h"), json!([programmed]), true),
        ("it is taken over, and something else was wrong", Some("h"), json!([misconfigured]), true),
        ("another template", Some("g"), json!([programmed]), false),
        ("back to the template before in the middle of a rebuild", Some("h"), json!([rebuilding]), false),
        ("the same before the server that replaces a lost one is made", Some("h"), json!([making]), false),
        ("nothing to compare, and it stood", None, json!([programmed]), true),
        ("nothing to compare, and it never stood", None, json!([making]), false),
    ] {
        for (change, network) in [(Change::Rebuild, "n"), (Change::Recreate, "n"), (Change::Nothing, "m")] {
            let mut world = World::standing();
            world.change = Some(change);
            world.wanted = Ok(place(network));
            let observed = json!({"observedTemplateHash": observed});
            set_field(
                &mut world.instance,
                "status",
                json!({"controller": observed, "conditions": conditions}),
            );
            // Not even a tag is put back: that would carry the rest of the new specification.
            world.see(|server| server.instance = None);
            let stays = matches!(world.plan(), Step::Rest { verdict: Verdict::Standing, .. });
            assert_eq!(stays, kept, "{what}: {change:?} {network}");
        }
    }
}

#[test]
fn v2_a_lost_tag_is_put_back() {
    let mut world = World::standing();
    world.see(|server| server.instance = None);
    assert_eq!(world.plan(), Step::Ask(Ask::Update(id())));
}

#[test]
fn v8_an_order_without_effect_waits_and_any_other_does_not() {
    let mut world = World::standing();
    world.change = Some(Change::InPlace);
    let wait = Duration::from_secs(8);
    world.known.repeated = Some(Repeated { ask: Ask::Update(id()), wait });
    assert_eq!(world.plan(), Step::Rest { verdict: Verdict::Standing, again: Some(wait) });
    world.power.runs = false;
    assert_eq!(world.plan(), Step::Ask(Ask::Power(id(), Power::Stop)));
    let mut world = world.delete();
    assert_eq!(world.plan(), Step::Ask(Ask::Delete(id())));
    world.known.repeated = Some(Repeated { ask: Ask::Delete(id()), wait });
    assert_eq!(world.plan(), Step::Rest { verdict: Verdict::Deleting { since: None }, again: Some(wait) });
}

#[test]
fn v9_a_gate_or_denied_quota_keeps_the_provider_away() {
    let gates = json!({"templateHash": "h", "schedulingGates": [{"name": "Quota"}]});
    let mut world = World::new().with_spec("controller", gates);
    world.instance.metadata.finalizers = None;
    assert_eq!(world.verdict(), Verdict::Aside);
    let mut world = World::new();
    let denied = json!({"conditions": [{"type": "QuotaGranted", "status": "False"}]});
    set_field(&mut world.instance, "status", denied.clone());
    assert_eq!(world.verdict(), Verdict::Aside);
    world.record = Record { server: None, server_requested: None, ..World::standing().record };
    assert_eq!(world.verdict(), Verdict::Aside, "no server is asked for any more");
    let mut world = World::standing();
    set_field(&mut world.instance, "status", denied);
    assert_eq!(world.verdict(), Verdict::Standing, "one that has passed runs on");
}

#[test]
fn v9_what_is_not_to_run_has_no_running_server() {
    let asleep = PowerWish { runs: false, restarted: None };
    for (phase, expected) in [
        (Phase::Running, Step::Ask(Ask::Power(id(), Power::Stop))),
        (Phase::Unknown, Step::Ask(Ask::Power(id(), Power::Stop))),
        (Phase::Building, Step::Rest { verdict: Verdict::Standing, again: None }),
        (Phase::Stopped, Step::Rest { verdict: Verdict::Standing, again: None }),
    ] {
        let mut world = World::standing();
        world.power = asleep;
        world.see(|server| server.phase = phase);
        assert_eq!(world.plan(), expected, "{phase:?}");
    }
    let mut world = World::new();
    world.power = asleep;
    assert_eq!(world.verdict(), Verdict::Off);
    world.record = Record { server: None, ..World::standing().record };
    assert_eq!(world.plan(), Step::Ask(Ask::Find), "one that was asked for may come up");
}

#[test]
fn v9_a_stopped_server_is_started_and_a_restart_is_made_once() {
    let mut world = World::standing();
    world.see(|server| server.phase = Phase::Stopped);
    assert_eq!(world.plan(), Step::Ask(Ask::Power(id(), Power::Start)));
    world.see(|_| {});
    world.power.restarted = Some(at(990));
    let (record, announces) = stored(world.plan());
    assert_eq!((record.restarted, announces), (Some(at(990)), Some(Announced::Restart)));
    world.record = record;
    assert_eq!(world.verdict(), Verdict::Standing, "another process has made it, or never will");
    world.known.owes_restart = true;
    assert_eq!(world.plan(), Step::Ask(Ask::Power(id(), Power::Restart)));
}

#[test]
fn v6_a_state_that_is_not_known_is_not_acted_on() {
    let mut world = World::standing();
    world.see(|server| server.phase = Phase::Unknown);
    assert_eq!(world.verdict(), Verdict::Standing);
}
