//! Histories of Instances at a region that is as bad as a real one may be, with ends of the process at any
//! moment: never two servers, none left over, no quota leaked, nothing of a stranger touched, and all is as
//! it is wanted in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fedhub_api::conditions::{find, is_true, said};
use fedhub_core::clock::Clock;
use fedhub_core::object::{Key, ObjectView};
use fedhub_provider::memory::Memory;
use fedhub_provider::pass::Passes;
use fedhub_provider::plan::{PowerWish, Settings};
use fedhub_provider::record::Record;
use fedhub_provider::watch::{Surroundings, Watch};
use fedhub_provider::{Phase, Place, ServerId};
use jiff::Timestamp;
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::model::Cell;
use crate::model::{Faults, Region, SETTLE, Spec};

const NAMES: [&str; 2] = ["web-0", "web-1"];

/// What happens in a history.
#[derive(Clone, Debug)]
enum Action {
    Wait(u64),
    Create(usize),
    Delete(usize),
    Image(usize, u8),
    Flavor(usize, u8),
    Network(usize, u8),
    Power(usize, bool),
    Restart(usize),
    /// The process ends at the point after so many, and another one begins.
    End(u32),
    /// Somebody deletes the server at the provider.
    Loss(usize),
    /// Somebody takes the tag off a server.
    LostTag(usize),
    /// A stranger's server gets the tag of an Instance.
    Stranger(usize, u8),
}

fn action() -> impl Strategy<Value = Action> {
    let who = 0..NAMES.len();
    prop_oneof![
        6 => (0_u64..90).prop_map(Action::Wait),
        4 => who.clone().prop_map(Action::Create),
        2 => who.clone().prop_map(Action::Delete),
        2 => (who.clone(), 1_u8..4).prop_map(|(who, to)| Action::Image(who, to)),
        1 => (who.clone(), 1_u8..3).prop_map(|(who, to)| Action::Flavor(who, to)),
        1 => (who.clone(), 1_u8..3).prop_map(|(who, to)| Action::Network(who, to)),
        1 => (who.clone(), any::<bool>()).prop_map(|(who, runs)| Action::Power(who, runs)),
        1 => who.clone().prop_map(Action::Restart),
        5 => (0_u32..40).prop_map(Action::End),
        1 => who.clone().prop_map(Action::Loss),
        1 => who.clone().prop_map(Action::LostTag),
        1 => (who, 1_u8..3).prop_map(|(who, network)| Action::Stranger(who, network)),
    ]
}

fn faults() -> impl Strategy<Value = Faults> {
    (0_u32..30, 0_u32..30, 0_u32..20, 0_u32..40, 0_u32..20, 0_u64..20, 0_u64..60).prop_map(
        |(refused, lost, late, vanished, unknown, lag, deletion)| Faults {
            refused,
            lost,
            late,
            vanished,
            unknown,
            lag,
            deletion,
            idle: false,
            hangs: 0,
        },
    )
}

/// The Instances that are to be looked at, and when.
#[derive(Default)]
struct Due {
    at: Mutex<BTreeMap<Key, Instant>>,
    changed: Notify,
}

impl Due {
    fn add(&self, key: &Key, at: Instant) {
        let mut due = self.at.lock();
        let stands = due.entry(key.clone()).or_insert(at);
        *stands = at.min(*stands);
        self.changed.notify_one();
    }

    fn next(&self) -> Option<(Key, Instant)> {
        self.at.lock().iter().min_by_key(|(_, at)| **at).map(|(key, at)| (key.clone(), *at))
    }
}

impl Surroundings for Due {
    fn wake(&self, instance: &Key) {
        self.add(instance, Instant::now());
    }

    fn leads(&self) -> bool {
        true
    }
}

struct World {
    cell: Arc<Cell>,
    region: Arc<Region>,
    wishes: Arc<Mutex<BTreeMap<String, PowerWish>>>,
    due: Arc<Due>,
    clock: Clock,
    process: Option<(tokio::task::JoinHandle<()>, DropGuard)>,
}

const RUNS: PowerWish = PowerWish { runs: true, restarted: None };

impl World {
    fn new(seed: u64, faults: Faults, by_rule: bool) -> Self {
        let clock = Clock::from_tokio(Timestamp::from_second(1_900_000_000).unwrap());
        let region = Arc::new(Region::new(seed, faults, by_rule, clock.clone()));
        let cell = Arc::new(Cell::new(region.clone(), clock.clone()));
        let runs = region.clone();
        tokio::spawn(async move { runs.run().await });
        let mut world =
            Self { cell, region, wishes: Arc::default(), due: Arc::default(), clock, process: None };
        world.start();
        world
    }

    /// Starts another process, which knows nothing but what is stored.
    fn start(&mut self) {
        let stop = CancellationToken::new();
        let due = Arc::new(Due::default());
        let watch = Watch::new(
            self.region.clone(),
            self.clock.clone(),
            due.clone(),
            TaskTracker::new(),
            stop.child_token(),
        );
        let passes = Passes {
            provider: self.region.clone(),
            watch,
            memory: Memory::default(),
            clock: self.clock.clone(),
            settings: Settings { settle: SETTLE, ..Settings::default() },
        };
        for name in NAMES {
            due.add(&Cell::key(name), Instant::now());
        }
        self.due = due.clone();
        let work = work(self.cell.clone(), self.wishes.clone(), due, passes);
        self.process = Some((tokio::spawn(work), stop.drop_guard()));
    }

    fn end(&mut self) {
        if let Some((process, _)) = self.process.take() {
            process.abort();
        }
    }

    async fn act(&mut self, action: &Action) {
        let name = |who: &usize| NAMES[*who];
        match action {
            Action::Wait(seconds) => tokio::time::sleep(Duration::from_secs(*seconds)).await,
            Action::Create(who) => {
                if self.cell.get(name(who)).is_none() {
                    self.cell.put(name(who));
                    self.wishes.lock().insert(name(who).to_owned(), RUNS);
                }
            }
            Action::Delete(who) => self.cell.delete(name(who)),
            Action::Image(who, to) => self.edit(name(who), "image", &format!("i{to}")),
            Action::Flavor(who, to) => self.edit(name(who), "flavor", &format!("f{to}")),
            Action::Network(who, to) => self.edit(name(who), "network", &format!("n{to}")),
            Action::Power(who, runs) => {
                self.wishes.lock().entry(name(who).to_owned()).or_insert(RUNS).runs = *runs;
            }
            Action::Restart(who) => {
                let now = self.clock.now();
                self.wishes.lock().entry(name(who).to_owned()).or_insert(RUNS).restarted = Some(now);
            }
            Action::End(points) => {
                self.region.fuse.set(*points);
                let _ = tokio::time::timeout(Duration::from_mins(2), self.region.fuse.blown()).await;
                self.end();
                self.region.fuse.set(u32::MAX - 1);
                self.start();
            }
            Action::Loss(who) => {
                let Some(instance) = self.cell.get(name(who)) else { return };
                self.region.with(|inner| {
                    inner.now.servers.retain(|_, server| server.made_for.as_deref() != Some(instance.uid()));
                });
            }
            Action::LostTag(who) => {
                // Without an ID that is recorded, nobody could tell whose it is.
                let Some(instance) = self.cell.get(name(who)) else { return };
                let Some(id) = Record::from_instance(&instance).server else { return };
                self.region.with(|inner| {
                    inner.now.servers.get_mut(&id).into_iter().for_each(|server| server.tag = None);
                });
            }
            Action::Stranger(who, network) => self.stranger(name(who), *network),
        }
        for name in NAMES {
            self.due.add(&Cell::key(name), Instant::now());
        }
    }

    fn edit(&self, name: &str, field: &str, to: &str) {
        self.cell.edit(name, |instance| {
            instance.data["spec"][field] = json!(to);
            let hash = instance.spec().to_string();
            instance.data["spec"]["controller"]["templateHash"] =
                json!(format!("{:x}", fedhub_core::hash::text(&hash)));
        });
    }

    fn stranger(&self, name: &str, network: u8) {
        let Some(instance) = self.cell.get(name) else { return };
        let id = ServerId(format!("stranger-{name}-{network}").into());
        let server = crate::model::stranger(
            &id,
            Place { region: "r".into(), project: "p".into(), network: format!("n{network}").into() },
            instance.uid(),
        );
        self.region.with(|inner| inner.now.servers.insert(id, server));
    }

    /// All faults end, and strangers give the tags back.
    async fn calm(&mut self) {
        self.region.with(|inner| {
            inner.faults = Faults { lag: inner.faults.lag.min(2), ..Faults::default() };
            for server in inner.now.servers.values_mut().filter(|server| server.made_for.is_none()) {
                server.tag = None;
            }
        });
        for name in NAMES {
            self.due.add(&Cell::key(name), Instant::now());
        }
        tokio::time::sleep(Duration::from_mins(20)).await;
        self.region.with(|_| ());
    }

    /// What is not as it is wanted now that all is calm.
    fn faults_at_rest(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for instance in self.cell.instances.lock().values() {
            let name = instance.name();
            if instance.is_terminating() {
                faults.push(format!("{name} is still there: {}", instance.status()));
                continue;
            }
            let runs = self.wishes.lock().get(name).is_none_or(|wish| wish.runs);
            let servers = self.region.with(|inner| {
                let ours = inner.now.servers.values();
                let ours = ours.filter(|server| server.made_for.as_deref() == Some(instance.uid()));
                ours.cloned().collect::<Vec<_>>()
            });
            let wanted = Spec {
                image: instance.spec()["image"].as_str().unwrap_or_default().to_owned(),
                flavor: instance.spec()["flavor"].as_str().unwrap_or_default().to_owned(),
            };
            let [server] = &servers[..] else {
                if runs || !servers.is_empty() {
                    faults.push(format!("{name} has {} servers: {}", servers.len(), instance.status()));
                }
                continue;
            };
            let as_wanted = server.spec == wanted
                && *server.place.network == *instance.spec()["network"].as_str().unwrap_or_default()
                && server.tag.as_deref() == Some(instance.uid());
            let phase = if runs { Phase::Running } else { Phase::Stopped };
            if !as_wanted || server.phase != phase {
                faults.push(format!("{name} is not as it is wanted: {server:?} {}", instance.data));
            }
            let status = instance.status();
            if Record::from_instance(instance).server.as_ref() != Some(&server.id)
                || !is_true(status, "Programmed")
                || is_true(status, "Available") != runs
                || is_true(status, "Rebuilding")
                || status["controller"]["observedTemplateHash"]
                    != instance.spec()["controller"]["templateHash"]
            {
                faults.push(format!("{name} says {status}"));
            }
        }
        faults
    }
}

/// The process: looks at Instances when that is due.
async fn work(
    cell: Arc<Cell>,
    wishes: Arc<Mutex<BTreeMap<String, PowerWish>>>,
    due: Arc<Due>,
    passes: Passes<Region>,
) {
    loop {
        let Some((key, at)) = due.next() else {
            due.changed.notified().await;
            continue;
        };
        tokio::select! {
            biased;
            () = due.changed.notified() => continue,
            () = tokio::time::sleep_until(at) => {}
        }
        due.at.lock().remove(&key);
        let Some(instance) = cell.get(&key.name) else { continue };
        let power = wishes.lock().get(&*key.name).copied().unwrap_or(RUNS);
        match passes.pass(&*cell, &key, instance, Some("p"), power).await {
            Ok(ended) => {
                if let Some(again) = ended.again {
                    due.add(&key, Instant::now() + again);
                }
            }
            Err(_) => due.add(&key, Instant::now() + Duration::from_millis(500)),
        }
    }
}

/// A history of a provider that can prove absence before it knows an ID, or of one that cannot: there an
/// Instance may stay whose server is not found, but nothing outlives its Instance.
async fn history(seed: u64, faults: Faults, by_rule: bool, actions: &[Action]) -> Result<(), TestCaseError> {
    let mut world = World::new(seed, faults, by_rule);
    world.region.fuse.set(u32::MAX - 1);
    for action in actions {
        world.act(action).await;
    }
    world.calm().await;
    let at_rest = world.faults_at_rest();
    let violations = world.region.with(|inner| inner.violations.clone());
    prop_assert!(violations.is_empty(), "{violations:?}");
    prop_assert!(at_rest.is_empty() || !by_rule, "{at_rest:#?}");

    for name in NAMES {
        world.cell.delete(name);
        world.due.add(&Cell::key(name), Instant::now());
    }
    tokio::time::sleep(Duration::from_mins(10)).await;
    let violations = world.region.with(|inner| inner.violations.clone());
    prop_assert!(violations.is_empty(), "{violations:?}");
    let stay: BTreeSet<_> = world.cell.instances.lock().values().map(|left| left.uid().to_owned()).collect();
    prop_assert!(stay.is_empty() || !by_rule, "{:?}", world.cell.instances.lock());
    let left = world.region.with(|inner| {
        let servers = inner.now.servers.values().filter_map(|server| server.made_for.clone());
        servers.chain(inner.now.allocations.values().cloned()).collect::<Vec<_>>()
    });
    let outlives: Vec<_> = left.iter().filter(|owner| !stay.contains(&***owner)).collect();
    prop_assert!(
        outlives.is_empty(),
        "servers or quota are left over of {outlives:?}: {:#?}",
        world.region.with(|inner| inner.log.clone())
    );
    world.end();
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn v2_a_server_of_an_instance_whose_record_is_lost_is_deleted_with_it() {
    let mut world = World::new(1, Faults::default(), true);
    world.act(&Action::Create(0)).await;
    world.act(&Action::Wait(60)).await;
    world.end();
    world.cell.edit(NAMES[0], |instance| instance.data["status"] = json!({}));
    world.cell.delete(NAMES[0]);
    world.start();
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert!(world.cell.get(NAMES[0]).is_none(), "{:?}", world.cell.get(NAMES[0]));
    let left = world.region.with(|inner| inner.now.servers.len() + inner.now.allocations.len());
    assert_eq!((left, world.region.with(|inner| inner.violations.clone())), (0, Vec::new()));
    world.end();
}

#[tokio::test(start_paused = true)]
async fn v2_nothing_is_asked_for_where_the_cell_does_not_keep_what_is_recorded() {
    let mut world = World::new(1, Faults::default(), true);
    world.cell.prunes.store(true, Ordering::Relaxed);
    world.act(&Action::Create(0)).await;
    world.act(&Action::Wait(300)).await;
    let orders = world.region.with(|inner| inner.log.clone());
    assert_eq!(orders, Vec::<String>::new());
    let instance = world.cell.get(NAMES[0]).unwrap();
    let programmed = find(instance.status(), "Programmed").map(said).unwrap_or_default();
    assert_eq!((programmed.0, programmed.1), ("False", "ProviderMisconfigured"));
    assert!(programmed.2.contains("CRDs"), "{}", programmed.2);
    world.cell.prunes.store(false, Ordering::Relaxed);
    world.act(&Action::Wait(120)).await;
    assert_eq!(world.faults_at_rest(), Vec::<String>::new());
    world.end();
}

#[tokio::test(start_paused = true)]
async fn v1_a_call_ends_before_another_process_concludes_that_it_is_over() {
    let mut world = World::new(1, Faults::default(), true);
    world.region.with(|inner| inner.faults.hangs = 50);
    world.act(&Action::Create(0)).await;
    world.act(&Action::Wait(600)).await;
    assert_eq!(world.region.with(|inner| inner.log.clone()), Vec::<String>::new());
    let instance = world.cell.get(NAMES[0]).unwrap();
    assert!(!is_true(instance.status(), "Programmed"), "{}", instance.status());
    assert!(Record::from_instance(&instance).allocation_requested.is_some(), "it may have been taken");
    world.region.with(|inner| inner.faults.hangs = 0);
    world.act(&Action::Wait(300)).await;
    assert_eq!(world.faults_at_rest(), Vec::<String>::new());
    world.end();
}

fn paused() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn v1_v2_v3_no_history_makes_two_servers_or_leaves_one_over(
        seed in any::<u64>(),
        faults in faults(),
        by_rule in prop::bool::weighted(0.8),
        actions in prop::collection::vec(action(), 1..25),
    ) {
        paused().block_on(history(seed, faults, by_rule, &actions))?;
    }
}
