//! A model of the servers, pure: it performs plans and says what the next pass would see.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fedhub_api::facts::deployment::reported;
use fedhub_cache::ServerNormalization;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Object, ObjectView, PlaneId, set_field};
use fedhub_engine::Intent;
use fedhub_federator::cleanup::CleanupBlocked;
use fedhub_federator::loss::is_awaiting_cell;
use fedhub_federator::moving::Bound;
use fedhub_federator::snapshot::Wd;
use fedhub_federator::teardown::Teardown;
use fedhub_planes::{Distrust, ServiceState, Write, WriteMode, WriteState};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

use crate::plan::fixtures::{HUB_SPACE, PLANE, now, writes};
use crate::plan::observed::{KnownPolicy, Live, Observed};
use crate::plan::observed::{Plan, plan};

/// What a server makes of a value that it is sent.
pub type Makes = fn(&mut Value);

/// The servers, as far as one WD is concerned.
#[derive(Clone)]
pub struct Model {
    pub project: Option<Object>,
    pub namespace: Option<Object>,
    pub hub: Option<Object>,
    pub policies: BTreeMap<String, Object>,
    pub cells: usize,
    /// Whether the WD runs in its cell.
    pub runs: bool,
    /// What came after the writes of the last plan.
    pub then: Option<Intent>,
    /// Why the finalizer stayed by the last plan.
    pub blocked: Option<CleanupBlocked>,
    /// Pruning and defaulting: of the hub WD's spec, the policy's spec, the project WD's status.
    pub makes: [Makes; 3],
    /// Writes asked for, in their order.
    pub log: Vec<&'static str>,
    pub dry_runs: usize,
    spec_normalization: Option<ServerNormalization>,
    status_normalization: Option<ServerNormalization>,
    pub writes: WriteState,
    pub service: ServiceState,
    /// Whether the hub was restored from a backup, and its cells have not written back yet.
    pub distrust: Option<Distrust>,
    last_restore: Option<Timestamp>,
    seen_deleted: bool,
    backup: Option<Box<Self>>,
    policy_echoes: BTreeMap<String, ServerNormalization>,
    /// What the `ResourceBinding` says.
    pub bound: Option<Bound>,
    live: Option<Live>,
    minted: u64,
    pub time: Timestamp,
}

impl Model {
    /// Servers that hold this project WD and nothing else.
    pub fn new(project: Object) -> Self {
        Self {
            project: Some(project),
            namespace: None,
            hub: None,
            policies: BTreeMap::new(),
            cells: 1,
            runs: false,
            then: None,
            blocked: None,
            makes: [|_| (), |_| (), |_| ()],
            log: Vec::new(),
            dry_runs: 0,
            spec_normalization: None,
            status_normalization: None,
            writes: WriteState::Active,
            service: ServiceState::Active,
            distrust: None,
            last_restore: None,
            seen_deleted: false,
            backup: None,
            policy_echoes: BTreeMap::new(),
            bound: None,
            live: None,
            minted: 1000,
            time: now(),
        }
    }

    pub fn seen(&self) -> Option<Observed> {
        Some(Observed {
            plane: PlaneName::new(PLANE).unwrap(),
            project: Arc::new(self.project.clone()?),
            hub_namespace_name: HUB_SPACE.to_owned(),
            hub_namespace: self.namespace.clone().map(Arc::new),
            hub: self.hub.clone().map(Arc::new),
            policies: self
                .policies
                .iter()
                .map(|(name, object)| KnownPolicy {
                    object: Arc::new(object.clone()),
                    normalization: self.policy_echoes.get(name).copied(),
                })
                .collect(),
            cells: self.cells,
            cell_down: None,
            cell_lost: false,
            spec_normalization: self.spec_normalization,
            status_normalization: self.status_normalization,
            writes: self.writes,
            service: self.service,
            bound: self.bound.clone(),
            stalled: false,
            held: None,
            is_due: false,
            distrust: self.distrust,
            last_restore: self.last_restore,
            teardown: Teardown::default(),
            seen_deleted: self.seen_deleted,
            waited: Duration::ZERO,
            live: self.live.clone(),
            now: self.time,
        })
    }

    /// Observes, plans and performs until nothing is left to do. Panics where that takes more than ten
    /// rounds.
    pub fn settle(&mut self) -> &mut Self {
        for _ in 0..12 {
            if self.step() {
                return self;
            }
        }
        panic!("it does not come to rest: {:?}", self.log);
    }

    /// Observes, plans and performs once. Says whether nothing was left to do.
    pub fn step(&mut self) -> bool {
        self.time += SignedDuration::from_secs(5);
        let Some(seen) = self.seen() else { return true };
        self.live = None;
        let plan = plan(&seen);
        let idle = !writes(&plan);
        self.then.clone_from(&plan.then);
        self.blocked = plan.blocked;
        self.perform(plan);
        if self.then == Some(Intent::ReadHub) {
            let live = Live {
                namespace: self.namespace.clone().map(Arc::new),
                deployment: self.hub.clone().map(Arc::new),
            };
            self.live = Some(live);
            return false;
        }
        idle
    }

    /// The process restarts: nothing is remembered of what was sent.
    pub fn restart(&mut self) -> &mut Self {
        (self.spec_normalization, self.status_normalization, self.live) = (None, None, None);
        self.policy_echoes.clear();
        self.seen_deleted = false;
        self.forget_log()
    }

    pub fn forget_log(&mut self) -> &mut Self {
        self.log.clear();
        self.dry_runs = 0;
        self
    }

    /// The cell reports: it has what the hub holds.
    pub fn report(&mut self, status: Value) -> &mut Self {
        self.runs = true;
        self.edit_hub(|hub| set_field(hub, "status", status))
    }

    /// The hub loses its state; what ran in the cell runs on.
    pub fn lose_hub(&mut self) -> &mut Self {
        (self.namespace, self.hub, self.spec_normalization) = (None, None, None);
        self.policies.clear();
        self.policy_echoes.clear();
        (self.live, self.seen_deleted) = (None, false);
        self
    }

    /// A backup of the hub is made, of which Karmada has done its part.
    pub fn back_up(&mut self) -> &mut Self {
        if self.hub.as_ref().is_none_or(|hub| reported(hub.status())) {
            self.backup = None;
            self.backup = Some(Box::new(self.clone()));
        }
        self
    }

    /// The hub is put back from its backup, which is noticed; what ran in the cell runs on.
    pub fn restore_hub(&mut self) -> &mut Self {
        let Some(backup) = self.backup.clone() else { return self };
        self.lose_hub();
        (self.namespace, self.hub, self.policies) = (backup.namespace, backup.hub, backup.policies);
        (self.distrust, self.last_restore) = (Some(Distrust::Restored), Some(self.time));
        // Karmada brings to the cell what the backup has.
        self.runs |= self.hub.is_some();
        self
    }

    /// The hub is trusted again, if the cell has written back.
    pub fn trust_hub(&mut self) -> &mut Self {
        if self.hub.as_ref().is_some_and(|hub| reported(hub.status())) {
            self.distrust = None;
        }
        self
    }

    /// The user deletes the WD.
    pub fn delete(&mut self) -> &mut Self {
        let time = Time(self.time);
        self.edit_project(|wd| _ = wd.metadata.deletion_timestamp.get_or_insert(time))
    }

    /// The hub WD is deleted by hand; Karmada removes it from the cell that it was applied in.
    pub fn delete_on_hub(&mut self) -> &mut Self {
        self.live = None;
        if let Some(hub) = self.hub.take() {
            self.spec_normalization = None;
            self.runs &= !reported(hub.status());
            let leaves = self.project.as_ref().is_some_and(ObjectView::is_terminating)
                || self.service == ServiceState::Withdrawn;
            self.seen_deleted = leaves && !is_awaiting_cell(&Wd::from_object(&PlaneId::Hub, &hub).unwrap());
        }
        self
    }

    pub fn edit_project(&mut self, edit: impl FnOnce(&mut Object)) -> &mut Self {
        let version = self.mint();
        if let Some(project) = &mut self.project {
            edit(project);
            project.metadata.resource_version = Some(version);
        }
        self
    }

    pub fn edit_hub(&mut self, edit: impl FnOnce(&mut Object)) -> &mut Self {
        let version = self.mint();
        if let Some(hub) = &mut self.hub {
            edit(hub);
            hub.metadata.resource_version = Some(version);
        }
        self.live = None;
        self
    }

    fn mint(&mut self) -> String {
        self.minted += 1;
        self.minted.to_string()
    }

    /// Performs a plan in the order that [`Plan`] says.
    pub fn perform(&mut self, plan: Plan) {
        let Plan { mark, namespace, policy, deployment, moved: _, recall, delete, status, release, .. } =
            plan;
        assert!(!recall, "there are no copies");
        if let Some(metadata) = mark {
            self.merge("mark", &metadata);
        }
        if let Some(write) = namespace {
            let old = self.namespace.take();
            self.namespace = Some(self.store("namespace", write, old.as_ref(), |_| ()).unwrap());
        }
        if let Some(write) = policy {
            let (name, sent) = sent(&write);
            let old = self.policies.remove(&name);
            let made = self.store("policy", write, old.as_ref(), self.makes[1]);
            let stored = made.or(old).unwrap();
            self.policy_echoes.insert(name.clone(), ServerNormalization::new(&sent, stored.spec()));
            self.policies.insert(name, stored);
        }
        if let Some(write) = deployment {
            let (_, sent) = sent(&write);
            let old = self.hub.take();
            let made = self.store("deployment", write, old.as_ref(), self.makes[0]);
            let stored = made.or(old).unwrap();
            self.seen_deleted = false;
            self.spec_normalization = Some(ServerNormalization::new(&sent, stored.spec()));
            self.hub = Some(stored);
        }
        if let Some(doomed) = delete {
            self.log.push("delete");
            let hub = self.hub.take().unwrap();
            assert_eq!(hub.uid(), doomed.uid());
            // Karmada takes out of the cell what it applied there itself.
            self.runs &= !reported(hub.status());
            self.hub = hub.metadata.finalizers.is_some().then(|| {
                let mut hub = hub;
                hub.metadata.deletion_timestamp = Some(Time(self.time));
                hub
            });
            if self.hub.is_none() {
                self.seen_deleted = true;
                self.spec_normalization = None;
            }
        }
        if let Some(write) = status {
            let mut got = write.status.clone();
            (self.makes[2])(&mut got);
            let same = self.project.as_ref().is_some_and(|p| *p.status() == got);
            self.dry_runs += usize::from(write.mode == WriteMode::DryRunFirst);
            self.status_normalization = Some(ServerNormalization::new(&write.status, &got));
            if !(write.mode == WriteMode::DryRunFirst && same) {
                self.log.push("status");
                set_field(self.project.as_mut().unwrap(), "status", got);
            }
        }
        if let Some(metadata) = release {
            self.merge("release", &metadata);
            let project = self.project.take().unwrap();
            let held = project.metadata.finalizers.as_ref().is_some_and(|f| !f.is_empty());
            self.project = (held || !project.is_terminating()).then_some(project);
        }
    }

    fn merge(&mut self, what: &'static str, metadata: &Value) {
        self.log.push(what);
        let project = self.project.as_mut().unwrap();
        for (field, value) in metadata.as_object().unwrap() {
            match field.as_str() {
                "finalizers" => project.metadata.finalizers = serde_json::from_value(value.clone()).unwrap(),
                "annotations" => {
                    let all = project.metadata.annotations.get_or_insert_default();
                    for (key, value) in value.as_object().unwrap() {
                        match value.as_str() {
                            Some(value) => _ = all.insert(key.clone(), value.to_owned()),
                            None => _ = all.remove(key),
                        }
                    }
                }
                other => panic!("the federator has no business with metadata.{other}"),
            }
        }
    }

    /// `None` where a dry run showed that nothing would change.
    fn store(
        &mut self,
        what: &'static str,
        write: Write,
        old: Option<&Object>,
        makes: Makes,
    ) -> Option<Object> {
        let (mut object, mode) = match write {
            Write::Create(mut object) => {
                assert!(old.is_none(), "{what} is there already");
                object.metadata.uid = Some(self.mint());
                (*object, WriteMode::Direct)
            }
            Write::Replace { object, mode } => {
                let old = old.unwrap_or_else(|| panic!("{what} is not there"));
                assert_eq!(object.version(), old.version(), "the precondition of {what}");
                assert_eq!(object.uid(), old.uid(), "{what}");
                (*object, mode)
            }
        };
        let mut spec = object.spec().clone();
        makes(&mut spec);
        set_field(&mut object, "spec", spec);
        let dry_run = mode == WriteMode::DryRunFirst;
        self.dry_runs += usize::from(dry_run);
        if dry_run && old.is_some_and(|o| o.data == object.data && o.metadata == object.metadata) {
            return None;
        }
        self.log.push(what);
        object.metadata.resource_version = Some(self.mint());
        Some(object)
    }
}

fn sent(write: &Write) -> (String, Value) {
    let object = crate::plan::fixtures::body(write);
    (object.name().to_owned(), object.spec().clone())
}
