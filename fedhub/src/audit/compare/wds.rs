//! Project WDs: what the federator would write is what differs.

use fedhub_api::conditions::{find, said};
use fedhub_api::reason::Reason;
use fedhub_core::message::Quoted;
use fedhub_core::names::SUSPENDED;
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};
use fedhub_engine::Intent;
use fedhub_federator::hub_namespace::HubNamespace;
use fedhub_federator::is_orphaned;
use fedhub_federator::moving::{Move, under_way};
use fedhub_federator::plan::{FederationPlan, plan};
use fedhub_federator::refusal::{Refusal, Remnant, conflict, remnant};
use fedhub_federator::render::render;
use fedhub_federator::snapshot::Snapshot;
use fedhub_planes::{ProjectNamespace, ServiceState, Write, WriteState};
use jiff::Timestamp;

use super::context::{Context, Draft, Findings, key};
use super::differ::{Differs, objects, statuses};
use super::pairs::Pair;
use crate::audit::finding::Discrepancy;
use crate::audit::world::{Part, Stored, changed};

pub fn compare(context: &Context<'_>, findings: &mut Findings<'_>) {
    for (plane, project) in &context.world.projects {
        for wd in project.deployments.iter() {
            let home = ProjectNamespace { plane: plane.clone(), namespace: wd.object.namespace().to_owned() };
            let space = match context.hub_namespace_of(&home, project, wd) {
                HubNamespace::In(space) | HubNamespace::Recorded(space) => Some(space),
                HubNamespace::Unknown => None,
            };
            let pair = Pair { context, home: &home, wd, space: space.as_deref().unwrap_or_default() };
            let drafts = if space.is_some() { judge(&pair) } else { vec![pair.namespace_gone()] };
            for draft in drafts {
                findings.add(plane.as_str(), draft);
            }
        }
    }
}

fn judge(pair: &Pair<'_>) -> Vec<Draft> {
    let found = |writes, service| {
        pair.snapshot(writes, service).map(|seen| pair.differences(&seen)).unwrap_or_default()
    };
    let drafts = found(WriteState::Active, ServiceState::Active);
    // What discovery and entitlements know is not read here. That a project or its service is suspended, its
    // hub WDs say; that the service was withdrawn, the WD itself does.
    let on_hub = pair.hub().and_then(|hub| hub.object.annotation(SUSPENDED)) == Some("true");
    let suspended = on_hub && pair.wd.object.annotation(SUSPENDED) != Some("true");
    let available =
        find(pair.wd.object.status(), "Available").and_then(|available| Reason::parse(said(available).1));
    let withdrawn = available == Some(Reason::ServiceNotActive);
    let others = [
        (suspended, WriteState::Suspended, ServiceState::Active),
        (suspended, WriteState::Active, ServiceState::Suspended),
        (withdrawn, WriteState::Active, ServiceState::Withdrawn),
    ];
    let explains =
        |(may, writes, service): (bool, WriteState, ServiceState)| may && found(writes, service).is_empty();
    if others.into_iter().any(explains) { Vec::new() } else { drafts }
}

impl Pair<'_> {
    fn draft(&self, discrepancy: Discrepancy, detail: impl Into<String>) -> Draft {
        Draft {
            discrepancy,
            subject: self.hub_key(),
            detail: detail.into(),
            since: self.changed(Part::Spec),
            rests_on: vec![self.wd_key(), self.hub_key(), self.namespace_key()],
        }
    }

    /// When a part of the WD last changed on either plane.
    fn changed(&self, part: Part) -> Option<Timestamp> {
        changed(&self.wd.object, part).max(self.hub().and_then(|hub| changed(&hub.object, part)))
    }

    fn namespace_gone(&self) -> Draft {
        let detail = "its namespace does not exist in the project, and no hub namespace has the WD";
        Draft { subject: self.wd_key(), ..self.draft(Discrepancy::NamespaceGone, detail) }
    }

    fn differences(&self, seen: &Snapshot) -> Vec<Draft> {
        if let Some(refusal) = conflict(seen)
            && !seen.project.terminating
        {
            // What an earlier WD of this name left is found on the hub.
            let orphan = self
                .hub()
                .is_some_and(|hub| is_orphaned(&hub.object, Some(self.wd.object.as_ref()), &seen.source()));
            return (!orphan)
                .then(|| self.draft(Discrepancy::HubConflict, refusal.to_string()))
                .into_iter()
                .collect();
        }
        let plan = plan(seen);
        if seen.project.terminating {
            return self.cleanup(seen, &plan).into_iter().collect();
        }
        let moving = self.moving(seen);
        let is_moving = moving.is_some();
        let writes = plan.intents.into_iter().filter_map(|intent| match intent {
            Intent::Render(draft) if !is_moving => {
                self.write(render(seen, plan.verdict.as_ref(), &draft, &self.bodies())?)
            }
            intent => self.write(intent),
        });
        [self.terminating(seen), moving].into_iter().flatten().chain(writes).collect()
    }

    /// What differs from what an intent writes.
    fn write(&self, intent: Intent) -> Option<Draft> {
        Some(match intent {
            Intent::Mark { finalizer, annotations, .. } => self.mark(finalizer, &annotations),
            Intent::Put { kind: Kind::Namespace, write, .. } => self.namespace_write(write),
            Intent::Put { kind: Kind::PropagationPolicy, write, .. } => self.policy_write(write),
            Intent::Put { write, .. } => self.deployment_write(write),
            Intent::PutStatus { write, .. } => return self.status_write(&write.status),
            _ => return None,
        })
    }

    fn mark(&self, finalizer: Option<&'static str>, annotations: &[(&'static str, Option<String>)]) -> Draft {
        let finalizer = finalizer.map(|_| "the federator's finalizer is missing".to_owned());
        let annotations = annotations.iter().map(|(key, value)| match value {
            Some(value) => format!("the annotation {key} is not {value}"),
            None => format!("the annotation {key} is of another object"),
        });
        let detail: Vec<_> = finalizer.into_iter().chain(annotations).collect();
        Draft { subject: self.wd_key(), ..self.draft(Discrepancy::WdMarkDiffers, detail.join("; ")) }
    }

    fn namespace_write(&self, write: Write) -> Draft {
        let (discrepancy, detail) = match &write {
            Write::Create(_) => (Discrepancy::HubNamespaceMissing, "it does not exist".to_owned()),
            Write::Replace { object, .. } => {
                (Discrepancy::HubNamespaceDiffers, against(object, self.namespace()).1)
            }
        };
        Draft { subject: self.namespace_key(), ..self.draft(discrepancy, detail) }
    }

    fn policy_write(&self, write: Write) -> Draft {
        let (Write::Create(object) | Write::Replace { object, .. }) = &write;
        let subject = key(PlaneId::Hub, Kind::PropagationPolicy, self.space, object.name());
        let current = self.context.world.hub.policies.get(self.space, object.name());
        let own = current.and_then(|policy| changed(&policy.object, Part::Spec));
        let (discrepancy, detail) = match &write {
            Write::Create(_) => (Discrepancy::PolicyMissing, "it does not exist".to_owned()),
            Write::Replace { .. } => (Discrepancy::PolicyDiffers, against(object, current).1),
        };
        let since = own.max(changed(&self.wd.object, Part::Spec));
        Draft { subject, since, ..self.draft(discrepancy, detail) }
    }

    fn deployment_write(&self, write: Write) -> Draft {
        match &write {
            Write::Create(_) => self.draft(Discrepancy::HubWdMissing, "it does not exist"),
            Write::Replace { object, .. } => {
                let (differs, detail) = against(object, self.hub());
                self.draft(differs.or(Discrepancy::HubWdDiffers), detail)
            }
        }
    }

    fn status_write(&self, wanted: &serde_json::Value) -> Option<Draft> {
        let differs = statuses(wanted, self.wd.object.status());
        let detail = differs.text().to_owned();
        let discrepancy = match differs {
            Differs::Not => return None,
            differs => differs.or(Discrepancy::StatusNotMirrored),
        };
        let since = self.changed(Part::Status);
        Some(Draft { subject: self.wd_key(), since, ..self.draft(discrepancy, detail) })
    }

    /// What is being deleted on the hub although the WD needs it: it has to go before it can be made anew.
    fn terminating(&self, seen: &Snapshot) -> Option<Draft> {
        let (discrepancy, subject, object) = match remnant(seen)? {
            Remnant::Namespace => {
                (Discrepancy::HubNamespaceMissing, self.namespace_key(), seen.hub_namespace.as_ref()?)
            }
            Remnant::Policy => {
                let policy = &seen.policy()?.object;
                let key = key(PlaneId::Hub, Kind::PropagationPolicy, self.space, policy.name());
                (Discrepancy::PolicyMissing, key, policy)
            }
            Remnant::Deployment => (Discrepancy::HubWdMissing, self.hub_key(), &self.hub()?.object),
        };
        Some(Draft { subject, since: deleted(object), ..self.draft(discrepancy, held(object)) })
    }

    /// A hub WD that is of another city than its project WD, or has not arrived in it.
    fn moving(&self, seen: &Snapshot) -> Option<Draft> {
        let hub = seen.hub.as_ref().filter(|hub| !hub.terminating && seen.cells <= 1)?;
        let recorded = |of: &Move| of.to_string().rsplit_once('/').and_then(|(_, since)| since.parse().ok());
        let (from, since) = match under_way(seen) {
            Some(of) if hub.moving().is_some() => (of.from.clone(), recorded(&of)),
            Some(of) => (of.from, self.changed(Part::Spec)),
            None if hub.city == seen.project.city => return None,
            None => (hub.city.as_deref().unwrap_or_default().to_owned(), self.changed(Part::Spec)),
        };
        let detail =
            format!("it is of city {}, and its project WD of {}", Quoted(&from), Quoted(seen.city()));
        Some(Draft { since, ..self.draft(Discrepancy::WrongCity, detail) })
    }

    /// What keeps a WD that is being deleted.
    fn cleanup(&self, seen: &Snapshot, plan: &FederationPlan) -> Option<Draft> {
        if !seen.project.held {
            return None;
        }
        let draft = match (&plan.verdict, &plan.intents[..]) {
            (Some(Refusal::CleanupHeld(why, _)), _) => {
                self.draft(Discrepancy::CleanupBlocked, why.to_string())
            }
            (_, [Intent::Release { .. }]) => {
                self.draft(Discrepancy::FinalizerLeft, "the hub has nothing of it any more")
            }
            _ => {
                let hub = self.hub().filter(|hub| hub.object.is_terminating());
                let detail =
                    hub.map_or_else(|| "its hub WD is not deleted".to_owned(), |hub| held(&hub.object));
                self.draft(Discrepancy::CleanupPending, detail)
            }
        };
        Some(Draft { subject: self.wd_key(), since: deleted(&self.wd.object), ..draft })
    }
}

impl Differs {
    /// The discrepancy, where fields alone may be the schema's.
    pub fn or(&self, discrepancy: Discrepancy) -> Discrepancy {
        if matches!(self, Self::InFields(_)) { Discrepancy::SchemaDiffers } else { discrepancy }
    }
}

fn against(wanted: &Object, current: Option<&Stored>) -> (Differs, String) {
    current.map_or((Differs::Not, String::new()), |current| objects(wanted, &current.object))
}

fn deleted(object: &Object) -> Option<Timestamp> {
    object.metadata.deletion_timestamp.as_ref().map(|at| at.0)
}

/// Says that an object is being deleted, and what holds it.
fn held(object: &Object) -> String {
    match object.metadata.finalizers.as_deref().unwrap_or_default() {
        [] => "it is being deleted".to_owned(),
        finalizers => format!("it is being deleted, held by {}", finalizers.join(", ")),
    }
}
