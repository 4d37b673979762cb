//! The applier: what is sent for an intent, what is not, and what follows from the answer.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors::Error;
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId, bare, set_field};
use fedhub_engine::{
    Answer, Bodies, Draft, DraftPart, Effects, Intent, Outcome, Reconciler, Step, Subject, apply,
};
use fedhub_fake_apiserver::resource::{self, Resource};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::{Pass, PlaneWriter, Planes, Precondition, Settings, Write, WriteMode};
use fedhub_testing::{Process, Run, asked, client, position, put_namespace, until, writes};
use serde_json::json;

const KIND: Kind = Kind::Instance;
const NONE: [&str; 0] = [];

/// A controller of Instances on the hub, which has so many tokens for deletions.
struct Instances {
    pass: Pass,
    planes: Arc<Planes>,
    tokens: usize,
    /// What it has learnt, by the name of the object.
    learnt: Vec<(String, &'static str)>,
    /// Whether it goes on after an Instance that the plane refuses.
    lenient: bool,
}

impl Reconciler for Instances {
    type Snapshot = ();
    type Plan = Vec<Intent>;

    async fn snapshot(&mut self) -> Result<ControlFlow<Outcome, ()>, Error> {
        Ok(ControlFlow::Continue(()))
    }

    fn plan(&self, (): &()) -> Vec<Intent> {
        Vec::new()
    }

    async fn apply(&mut self, seen: &(), plan: Vec<Intent>) -> Result<Step, Error> {
        apply(self, seen, plan).await
    }
}

impl Effects for Instances {
    fn writer(&self, _: &PlaneId) -> PlaneWriter<'_> {
        PlaneWriter {
            plane: self.planes.hub(),
            pass: &self.pass,
            manager: "test",
            metrics: self.planes.metrics(),
        }
    }

    fn render(&self, (): &(), draft: &Draft, bodies: &Bodies) -> Option<Intent> {
        let body = bodies.get(&draft.from[0].key)?;
        Some(put(sized(body, "large"), draft.mode, None))
    }

    fn take(&self, key: &Key) -> Result<(), Duration> {
        assert_eq!(key.kind, KIND);
        let deleted = self.learnt.iter().filter(|(_, answer)| *answer == "deleted").count();
        if deleted < self.tokens { Ok(()) } else { Err(Duration::from_secs(7)) }
    }

    fn learn(&mut self, (): &(), key: &Key, answer: Answer) -> Result<Step, Error> {
        self.learnt.push((key.name.to_string(), short(&answer)));
        match answer {
            Answer::Failed(_) if self.lenient => Ok(Step::Unchanged),
            answer => answer.step(),
        }
    }
}

/// An answer, in short.
fn short(answer: &Answer) -> &'static str {
    match answer {
        Answer::Stored(_) => "stored",
        Answer::Deleted { gone: true } => "deleted",
        Answer::Limited(_) => "limited",
        Answer::Read(Some(_)) => "found",
        Answer::Read(None) => "absent",
        Answer::Outdated(_) => "outdated",
        Answer::Gone => "gone",
        Answer::Failed(_) => "failed",
        answer => panic!("{answer:?}"),
    }
}

fn sized(object: &Object, size: &str) -> Object {
    let mut object = object.clone();
    set_field(&mut object, "spec", json!({"size": size, "fixed": 1}));
    object
}

/// Without the field that must not change.
fn unfixed(object: &Object) -> Object {
    let mut object = object.clone();
    set_field(&mut object, "spec", json!({"size": "small", "fixed": 2}));
    object
}

fn put(object: Object, mode: WriteMode, recreate: Option<ObjectRef>) -> Intent {
    let object = Box::new(object);
    let write =
        if object.version().is_empty() { Write::Create(object) } else { Write::Replace { object, mode } };
    Intent::Put { to: PlaneId::Hub, kind: KIND, write, recreate }
}

fn delete(subject: Subject, inferred: bool) -> Intent {
    Intent::Delete { subject, precondition: Precondition::Uid, inferred }
}

fn draft(subject: Subject) -> Intent {
    Intent::Render(Draft { part: DraftPart::Object, from: vec![subject], mode: WriteMode::Direct })
}

struct World {
    hub: ApiServer,
    run: Run<Arc<Planes>>,
    instances: Instances,
}

impl World {
    /// A hub with the Instances `a`, `b` and `c`.
    async fn new() -> Self {
        let instances = Resource::custom("compute.datumapis.com", "v1alpha", "Instance", "instances");
        let instances = instances.with_status().immutable(&["/spec/fixed"]);
        let hub = ApiServer::builder("hub").resources(resource::hub()).resource(instances).build();
        put_namespace(&hub, "n");
        for name in ["a", "b", "c"] {
            let metadata = json!({"namespace": "n", "name": name});
            let api = "compute.datumapis.com/v1alpha";
            hub.put(json!({"apiVersion": api, "kind": "Instance", "metadata": metadata, "spec": {"size": "small", "fixed": 1}}))
                .unwrap();
        }
        let mut process = Process::on(&hub);
        let planes = process.planes(client(&hub), Settings::default());
        planes.start();
        let run = process.running(planes.clone());
        until("the hub", || planes.hub().synced()).await;
        Self {
            hub,
            run,
            instances: Instances {
                pass: Pass::unbound(),
                planes,
                tokens: 0,
                learnt: Vec::new(),
                lenient: false,
            },
        }
    }

    async fn body(&self, name: &str) -> ObjectRef {
        self.instances.planes.hub().refresh(&self.instances.pass, KIND, "n", name).await.unwrap().unwrap()
    }

    fn subject(&self, name: &str) -> Subject {
        let hub = self.instances.planes.hub();
        let stub = hub.store(KIND).digest("n", name).unwrap().stub(KIND, "n", name);
        Subject { key: hub.key(KIND, "n", name), stub }
    }

    /// That object as it was before, by another version or UID.
    fn former(&self, name: &str, change: impl FnOnce(&mut Object)) -> Subject {
        let Subject { key, stub } = self.subject(name);
        let mut stub = stub.as_ref().clone();
        change(&mut stub);
        Subject { key, stub: stub.into() }
    }

    /// Applies those intents; returns what follows, and what was written.
    async fn apply(&mut self, intents: Vec<Intent>) -> (Result<Step, Error>, Vec<String>) {
        let from = position(&self.hub);
        let step = apply(&mut self.instances, &(), intents).await;
        (step, writes(&self.hub, from))
    }
}

#[tokio::test(start_paused = true)]
async fn i7_a_draft_is_rendered_from_what_the_plan_is_for_and_from_nothing_else() {
    let mut world = World::new().await;
    let older = world.former("a", |it| it.metadata.resource_version = Some("1".to_owned()));
    let intents = vec![draft(older), draft(world.subject("b"))];
    let (step, written) = world.apply(intents).await;
    assert_eq!((step.unwrap(), written), (Step::Learned, vec![]), "nothing after it either");
    assert_eq!(world.instances.learnt, [("a".to_owned(), "outdated")]);

    let (step, written) = world.apply(vec![draft(world.subject("a"))]).await;
    assert_eq!((step.unwrap(), &written[..]), (Step::Updated, &["update instances/a".to_owned()][..]));
    assert_eq!(world.hub.get("Instance", "n", "a").unwrap()["spec"]["size"], "large");

    let gone = Subject { key: Key { name: "d".into(), ..world.subject("a").key }, ..world.subject("a") };
    let (step, written) = world.apply(vec![Intent::Fetch(gone), draft(world.subject("b"))]).await;
    assert_eq!((step.unwrap(), written), (Step::End(Outcome::AwaitChange), vec![]));
    world.run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_an_inferred_deletion_takes_a_token_and_each_names_the_uid() {
    let mut world = World::new().await;
    world.instances.tokens = 1;
    let other = world.former("c", |it| it.metadata.uid = Some("another".to_owned()));
    let (refused, _) = world.apply(vec![delete(other, false)]).await;
    assert!(refused.is_err() && world.hub.get("Instance", "n", "c").is_some(), "it is another object");
    world.instances.learnt.clear();

    let intents = ["a", "b", "c"].map(|name| delete(world.subject(name), true));
    let (step, written) = world.apply(intents.into()).await;
    assert_eq!(step.unwrap(), Step::End(Outcome::RequeueAfter(Duration::from_secs(7))));
    assert_eq!(written, ["delete instances/a"]);
    // What is gone is known to be, before the watch shows it.
    assert!(world.instances.planes.hub().store(KIND).digest("n", "a").is_none());
    let (step, written) = world.apply(vec![delete(world.subject("b"), false)]).await;
    assert_eq!((step.unwrap(), written.len()), (Step::Updated, 1), "one that was seen needs no token");
    world.run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_refusal_ends_the_plan_unless_the_controller_goes_on() {
    let mut world = World::new().await;
    world.hub.fault(Fault::Status(422).on("create", "instances"));
    let new = || put(sized(&bare(KIND, "n", "new"), "small"), WriteMode::Direct, None);
    let (step, written) = world.apply(vec![new(), draft(world.subject("a"))]).await;
    assert!(step.is_err() && !written.contains(&"update instances/a".to_owned()));
    world.instances.lenient = true;
    let (step, written) = world.apply(vec![new(), draft(world.subject("a"))]).await;
    assert_eq!(step.unwrap(), Step::Updated);
    assert!(written.contains(&"update instances/a".to_owned()));
    // What ends the reconcile is the last that is done.
    let (step, written) =
        world.apply(vec![Intent::End(Outcome::AwaitChange), draft(world.subject("b"))]).await;
    assert_eq!((step.unwrap(), written), (Step::End(Outcome::AwaitChange), vec![]));
    world.run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p3_what_must_not_change_is_deleted_to_be_made_anew_where_the_plan_says_so() {
    let mut world = World::new().await;
    let body = world.body("a").await;
    let replace = |recreate| vec![put(unfixed(&body), WriteMode::Direct, recreate)];
    let (refused, written) = world.apply(replace(None)).await;
    assert_eq!((refused.is_err(), written.len()), (true, 1), "it is refused, and stands");
    let (step, written) = world.apply(replace(Some(body.clone()))).await;
    assert_eq!(step.unwrap(), Step::Updated);
    assert_eq!(written, ["update instances/a", "delete instances/a"]);
    assert!(world.instances.planes.hub().store(KIND).digest("n", "a").is_none(), "the next round creates it");

    world.hub.fault(Fault::Status(422).on("update", "instances"));
    let body = world.body("b").await;
    let intents = vec![put(sized(&body, "large"), WriteMode::Direct, Some(body.clone()))];
    let (invalid, written) = world.apply(intents).await;
    assert!(invalid.is_err() && written == ["update instances/b"], "what is only invalid stands");
    world.run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_live_read_is_a_read_and_its_answer_is_handed_over() {
    let mut world = World::new().await;
    let from = position(&world.hub);
    let absent = Key { name: "d".into(), ..world.subject("a").key };
    let intents = vec![Intent::ReadLive(absent), Intent::ReadLive(world.subject("a").key)];
    let (step, written) = world.apply(intents).await;
    assert_eq!((step.unwrap(), &written[..]), (Step::Learned, &NONE.map(str::to_owned)[..]));
    assert_eq!(asked(&world.hub, from), ["get instances/d", "get instances/a"]);
    assert_eq!(world.instances.learnt, [("d".to_owned(), "absent"), ("a".to_owned(), "found")]);
    world.run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i2_i9_what_is_written_after_a_mark_is_written_over_the_mark_and_a_release_leaves_other_finalizers() {
    let mut world = World::new().await;
    let theirs = json!({"metadata": {"finalizers": ["example.org/theirs"]}});
    world.hub.patch("Instance", "n", "a", &theirs).unwrap();
    world.body("a").await;
    let mark = |subject| Intent::Mark {
        subject,
        finalizer: Some("example.org/ours"),
        annotations: vec![("example.org/of", Some("n".to_owned()))],
    };
    let subject = world.subject("a");
    // The draft is of the version that the mark replaces.
    let (step, written) = world.apply(vec![mark(subject.clone()), draft(subject)]).await;
    assert_eq!(step.unwrap(), Step::Updated);
    assert_eq!(written, ["patch instances/a", "update instances/a"]);
    let stored = world.hub.get("Instance", "n", "a").unwrap();
    assert_eq!(stored["metadata"]["annotations"]["example.org/of"], "n");
    assert_eq!(stored["metadata"]["finalizers"], json!(["example.org/theirs", "example.org/ours"]));
    assert_eq!(stored["spec"]["size"], "large");

    let older = world.former("a", |it| it.metadata.resource_version = Some("1".to_owned()));
    let (step, written) = world.apply(vec![mark(older), draft(world.subject("b"))]).await;
    assert_eq!((step.unwrap(), written), (Step::Learned, vec![]), "a mark is of what the plan is for, too");

    let release = Intent::Release { subject: world.subject("a"), finalizer: "example.org/ours" };
    let (step, written) = world.apply(vec![release]).await;
    assert_eq!((step.unwrap(), &written[..]), (Step::Updated, &["patch instances/a".to_owned()][..]));
    let stored = world.hub.get("Instance", "n", "a").unwrap();
    assert_eq!(stored["metadata"]["finalizers"], json!(["example.org/theirs"]));
    world.run.stop().await;
}
