//! A pass over a WD that is to live.

use fedhub_planes::Precondition;
use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_api::responsibility::INSTANCES_REFUSED;
use fedhub_api::transitions;
use fedhub_cache::Part;
use fedhub_cache::normalization::settled;
use fedhub_core::errors::{self, Category, Error, RequestError};
use fedhub_core::names::{INSTANCE_FINALIZER, WORKLOAD_FINALIZER};
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_engine::Outcome;
use fedhub_planes::events::reference_to;
use fedhub_planes::writer::probe;
use fedhub_planes::{PlaneWriter, StatusWrite};
use serde_json::{Value, json};

use super::Deployments;
use super::patch::patch;
use crate::autoscaling::desired;
use crate::data;
use crate::instances::{Deployment, Gate, Instance, Step, Wait, build, plan};
use crate::network::{self, View};
use crate::status::blocker::Words;
use crate::status::deployment::{Seen, same_but_for_stages, status, suspended};
use crate::status::gates::Opens;
use crate::status::hush::hushed;
use crate::status::network::{Location, Network};
use crate::status::termination::is_overdue;

/// What became of a pass so far.
pub(super) struct Pass<'a> {
    pub(super) writer: PlaneWriter<'a>,
    /// Something was stored whose event brings the WD back.
    pub(super) stepped: bool,
    /// Something else was stored.
    pub(super) wrote: bool,
    /// The first write that the cell refused.
    refused: Option<RequestError>,
    /// What keeps Instances from being made.
    obstacle: Option<Words>,
    /// What the autoscaler does, where there is to be one.
    pub(super) scaling: Option<Words>,
    /// When the status is to be written, where that can wait.
    hushed: Option<Duration>,
}

impl Deployments {
    pub(super) async fn pass(&self, wd: ObjectRef) -> Result<Outcome, Error> {
        let mut pass = Pass::over(self.writer());
        let wd = if wd.has_finalizer(WORKLOAD_FINALIZER) { wd } else { pass.mark(&wd).await? };
        let wd = self.autoscale(&mut pass, wd).await?;
        let schema = self.schema.judging(self.cell.anchor(), &wd).await?;
        let deployment = Deployment::by(&wd, &schema);
        let view = self.networks(&mut pass, &wd).await?;
        let at_rest = self.instances(&mut pass, &wd, &deployment, &view).await?;
        for replaced in &view.plan.replaced {
            let deleted = pass.writer.plane.delete(Kind::NetworkBinding, replaced, Precondition::Uid).await;
            pass.stepped |= pass.tried(deleted)?.is_some();
        }
        self.report(&mut pass, &wd, &deployment, &view).await?;
        if let Some(refusal) = pass.refused {
            return Err(refusal.into());
        }
        Ok(match pass.hushed {
            // There is more to come, which must not wait for its turn behind what was written.
            _ if pass.stepped => Outcome::AwaitChange,
            Some(wait) => Outcome::RequeueAfter(wait),
            None if pass.wrote => Outcome::Updated,
            None if at_rest => Outcome::Unchanged,
            None => Outcome::AwaitChange,
        })
    }

    /// Asks for the networks that are lacking; how far they are then.
    async fn networks(&self, pass: &mut Pass<'_>, wd: &ObjectRef) -> Result<View, Error> {
        let cell = self.cell.anchor();
        if !self.config.networking {
            return Ok(network::look_without_networking(cell, wd));
        }
        let mut view = network::look(cell, wd);
        if view.plan.bindings.is_empty() && view.plan.claims.is_empty() {
            return Ok(view);
        }
        let asked = network::apply(&view.plan, &pass.writer).await;
        let refused = asked.as_ref().err().filter(|e| is_no(e)).map(|e| errors::chain(e));
        pass.stepped |= pass.tried(asked)? == Some(true);
        view = network::look(cell, wd);
        if let Some(refused) = refused.filter(|_| view.plan.network != Network::Ready) {
            view.plan.network = Network::Failed(refused);
        }
        Ok(view)
    }

    /// The step, and what is to be put right of each Instance. Says whether they are all as they should be.
    async fn instances(
        &self,
        pass: &mut Pass<'_>,
        wd: &Object,
        deployment: &Deployment<'_>,
        view: &View,
    ) -> Result<bool, Error> {
        let all = self.cell.anchor().store(Kind::Instance).objects(Some(wd.namespace()));
        let views: Vec<_> = all.iter().map(|i| self.view(deployment, i)).collect();
        let plan = plan(deployment, desired(wd), &views);
        let mut leaving: Vec<&str> = Vec::new();
        match &plan.step {
            Step::Create(ordinal) => self.create(pass, deployment, wd, *ordinal, view).await?,
            Step::Replace(_) if suspended(wd) => {}
            Step::Replace(instance) => leaving.push(instance.uid),
            Step::Delete(them) => leaving.extend(them.iter().map(|i| i.uid)),
            Step::Wait(wait) => pass.obstacle = obstacle(wait),
            Step::Rest => {}
        }
        for doomed in all.iter().filter(|i| leaving.contains(&i.uid())) {
            let deleted = self.delete(doomed).await;
            pass.stepped |= pass.tried(deleted)?.is_some();
        }
        let labels: BTreeMap<&str, _> = plan.labels.iter().map(|p| (p.instance.uid, &p.set)).collect();
        for (object, instance) in all.iter().zip(&views) {
            if !deployment.owns(instance) || instance.terminating || leaving.contains(&instance.uid) {
                continue;
            }
            // One on an earlier template waits for networks that nobody may ask for any more.
            let current = !self.config.networking || !deployment.outdates(instance);
            let opens =
                Opens { network: view.plan.network == Network::Ready && current, resumed: !suspended(wd) };
            let labels = labels.get(instance.uid).copied();
            let hash = instance.template_hash.filter(|_| !deployment.outdates(instance));
            let place = view.next_place(wd, object);
            if let Some(patch) = patch(object, labels, place.as_ref(), hash, opens) {
                let patched = pass.writer.patch(Kind::Instance, object, patch).await;
                pass.stepped |= pass.tried(patched)?.is_some();
            }
        }
        Ok(plan.step == Step::Rest)
    }

    async fn create(
        &self,
        pass: &mut Pass<'_>,
        deployment: &Deployment<'_>,
        wd: &Object,
        ordinal: u32,
        view: &View,
    ) -> Result<(), Error> {
        let network = self.config.networking && view.plan.network != Network::Ready;
        let data = self.config.referenced_data && data::refers(&deployment.template["spec"]);
        let gates = [
            (network, Gate::Network),
            (self.config.quota, Gate::Quota),
            (data, Gate::ReferencedData),
            (suspended(wd), Gate::Suspended),
        ];
        let gates = gates.into_iter().filter_map(|(on, gate)| on.then_some(gate));
        let place = network::place(wd, &view.location);
        let mut object = build(deployment, ordinal, place.as_ref(), gates);
        if self.config.write_back {
            object.metadata.finalizers = Some(vec![INSTANCE_FINALIZER.to_owned()]);
        }
        let made = network::create(&pass.writer, Kind::Instance, object).await;
        pass.obstacle = made.as_ref().err().filter(|error| is_no(error)).map(refusal);
        pass.stepped |= pass.tried(made)?.is_some();
        Ok(())
    }

    /// Names the Instances of a WD that is being deleted that take longer to go than they may (C12). What else its status
    /// says matters to nobody any more.
    pub(super) async fn report_overdue(&self, wd: &Object, deployment: &Deployment<'_>) -> Result<(), Error> {
        let overdue = |i: &Object| i.is_terminating() && is_overdue(i) && deployment.owns(&Instance::of(i));
        let instances = self.cell.anchor().store(Kind::Instance);
        if !instances.objects(Some(wd.namespace())).iter().any(|i| overdue(i)) {
            return Ok(());
        }
        let mut pass = Pass::over(self.writer());
        self.report(&mut pass, wd, deployment, &View::off(Location::Unasked)).await?;
        if let Some(refusal) = pass.refused {
            return Err(refusal.into());
        }
        Ok(())
    }

    /// The status, where it is another than the one that stands.
    async fn report(
        &self,
        pass: &mut Pass<'_>,
        wd: &Object,
        deployment: &Deployment<'_>,
        view: &View,
    ) -> Result<(), Error> {
        let (cell, kind) = (self.cell.anchor(), Kind::WorkloadDeployment);
        let store = cell.store(kind);
        let current = store.digest(wd.namespace(), wd.name());
        if current.is_none_or(|now| now.version != fedhub_cache::digest::Version::new(wd.version())) {
            // It changed meanwhile: the next pass says what is so then.
            return Ok(());
        }
        let mut own = cell.store(Kind::Instance).objects(Some(wd.namespace()));
        own.retain(|i| deployment.owns(&Instance::of(i)));
        let next = status(&Seen {
            deployment: wd,
            instances: &own,
            desired: desired(wd),
            template_hash: &deployment.template_hash,
            network: &view.plan.network,
            location: &view.location,
            scaling: pass.scaling.as_ref(),
            obstacle: pass.obstacle.as_ref(),
            now: self.cell.clock().now(),
        });
        let echo = store.normalization(wd.namespace(), wd.name(), Part::Status);
        if settled(&next, wd.status(), echo) {
            return Ok(());
        }
        if same_but_for_stages(&next, wd.status()) {
            let now = self.cell.clock().now();
            pass.hushed = own.iter().filter_map(|i| hushed(i, i.status(), now)).max();
            if pass.hushed.is_some() {
                return Ok(());
            }
        }
        let reported = wd.status().get("observedGeneration").and_then(Value::as_i64);
        let before = reported.is_some() && reported == wd.metadata.generation;
        let write = StatusWrite { status: next, probe: probe(true, before, echo) };
        let written = pass.writer.write_status(kind, wd, write).await;
        if let Some(stored) = pass.tried(written)?.flatten() {
            pass.wrote = true;
            for turn in transitions::of_deployment(wd.status(), stored.status()) {
                cell.events.turn(reference_to(kind, wd), turn);
            }
        }
        Ok(())
    }
}

impl<'a> Pass<'a> {
    /// A pass that has done nothing yet.
    pub(super) fn over(writer: PlaneWriter<'a>) -> Self {
        Self {
            writer,
            stepped: false,
            wrote: false,
            refused: None,
            obstacle: None,
            scaling: None,
            hushed: None,
        }
    }

    /// Puts the finalizer on: nothing is made for a WD before that.
    async fn mark(&mut self, wd: &ObjectRef) -> Result<ObjectRef, Error> {
        let standing = wd.metadata.finalizers.iter().flatten().map(String::as_str);
        let all: Vec<_> = standing.chain([WORKLOAD_FINALIZER]).collect();
        let metadata = json!({ "finalizers": all });
        let marked = self.writer.patch_metadata(Kind::WorkloadDeployment, wd, metadata).await?;
        self.wrote = true;
        Ok(marked)
    }

    /// What came of a write. A refusal is one write's own: it is kept, and the pass goes on. All else ends it.
    #[allow(clippy::result_large_err, reason = "it is what the pass returns")]
    pub(super) fn tried<T>(&mut self, written: Result<T, RequestError>) -> Result<Option<T>, Error> {
        match written {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if is_no(&error) || error.category() == Category::Conflict => {
                self.refused.get_or_insert(error);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether the cell understood a write and does not take it.
pub(super) fn is_no(error: &RequestError) -> bool {
    matches!(error.category(), Category::Invalid | Category::Forbidden)
}

/// Why an Instance is not made, where no Instance says so itself (C9).
fn obstacle(wait: &Wait<'_>) -> Option<Words> {
    let reason = match wait {
        Wait::Deleting(_) | Wait::NotReady(_) => return None,
        Wait::NameTaken(_) => "InstanceNameTaken",
        Wait::UnknownPolicy(_) | Wait::NoTemplate => "ConfigurationError",
    };
    Some(Words::no(reason, wait.to_string()))
}

/// What of an Instance the cell does not take is the template's fault, what is forbidden is not: rights, admission and
/// quotas of the cell are its operator's (C9).
fn refusal(error: &RequestError) -> Words {
    let reason = match error.code() {
        Some(400 | 413 | 422) => "ConfigurationError",
        _ => INSTANCES_REFUSED,
    };
    Words::no(reason, errors::chain(error))
}
