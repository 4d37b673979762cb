//! What stands on the hub without a project WD that leads to it: orphans, duplicates, policies and namespaces
//! that are left over. Nothing of a plane that was not read is judged.

use std::collections::BTreeMap;

use fedhub_api::facts::DigestExt;
use fedhub_core::names::{CITY_CODE, SOURCE, SOURCE_UID};
use fedhub_core::object::{Kind, ObjectView, PlaneId};
use fedhub_federator::hub_namespace::HubNamespace;
use fedhub_federator::snapshot::source;
use fedhub_federator::{is_orphaned, uses_policy};
use fedhub_planes::ProjectNamespace;
use fedhub_workload::referenced_data::snapshot::token;

use super::context::{Context, Draft, Findings, key, key_of};
use crate::audit::finding::Discrepancy;
use crate::audit::world::{Part, Project, Stored, changed};

const WD: Kind = Kind::WorkloadDeployment;

pub fn compare(context: &Context<'_>, findings: &mut Findings<'_>) {
    let mut twins = BTreeMap::<&str, Vec<&Stored>>::new();
    for hub in context.world.hub.deployments.iter() {
        if let Some(uid) = hub.object.annotation(SOURCE_UID) {
            twins.entry(uid).or_default().push(hub);
        }
    }
    for (home, namespaces) in &context.hub_namespaces {
        let Some(project) = context.world.projects.get(&home.plane) else { continue };
        for namespace in namespaces.iter().copied() {
            let space = Space { context, home, project, namespace };
            let deployments = space.deployments().filter_map(|hub| {
                let uid = hub.object.annotation(SOURCE_UID).unwrap_or_default();
                space.deployment(hub, twins.get(uid).map_or(1, Vec::len) > 1)
            });
            let drafts = deployments.chain(space.policies()).chain(space.companions()).chain(space.empty());
            drafts.for_each(|draft| findings.add(home.plane.as_str(), draft));
        }
    }
}

/// A hub namespace of a project that was read.
struct Space<'a> {
    context: &'a Context<'a>,
    home: &'a ProjectNamespace,
    project: &'a Project,
    namespace: &'a Stored,
}

impl<'a> Space<'a> {
    fn name(&self) -> &'a str {
        self.namespace.object.name()
    }

    fn deployments(&self) -> impl Iterator<Item = &'a Stored> + use<'a> {
        self.context.world.hub.deployments.within(self.name())
    }

    /// A hub WD that is no project WD's: an orphan, a second one, or another's.
    fn deployment(&self, hub: &Stored, has_twin: bool) -> Option<Draft> {
        let object = &hub.object;
        let name = hub.object.name();
        let living = self.project.deployments.get(&self.home.namespace, name);
        let origin = source(self.home, name);
        let plane = PlaneId::Project(self.home.plane.clone());
        let draft = |discrepancy, detail: String| Draft {
            discrepancy,
            subject: key_of(PlaneId::Hub, WD, hub),
            detail,
            since: changed(object, Part::Spec),
            rests_on: vec![
                key(plane.clone(), WD, &self.home.namespace, name),
                key_of(PlaneId::Hub, Kind::Namespace, self.namespace),
            ],
        };
        if is_orphaned(object, living.map(|it| it.object.as_ref()), &origin) {
            let detail = match living {
                None => format!("{origin} does not exist any more"),
                Some(_) => format!("{origin} is another WD now"),
            };
            return Some(draft(Discrepancy::Orphan, detail));
        }
        let in_place = living.is_some_and(|wd| self.is_place_of(wd));
        if in_place || object.is_terminating() {
            return None;
        }
        match (object.annotation(SOURCE), living) {
            (mark, Some(_)) if has_twin && mark.is_none_or(|mark| mark == origin) => {
                Some(draft(Discrepancy::Duplicate, format!("{origin} is in another hub namespace, too")))
            }
            (Some(mark), _) if mark != origin => {
                Some(draft(Discrepancy::ForeignHubWd, format!("its mark names {mark}, not {origin}")))
            }
            _ => None,
        }
    }

    /// Whether a WD of this project belongs here; `None` where its place is not known.
    fn place_of(&self, wd: &Stored) -> Option<bool> {
        match self.context.hub_namespace_of(self.home, self.project, wd) {
            HubNamespace::In(space) | HubNamespace::Recorded(space) => Some(space == self.name()),
            HubNamespace::Unknown => None,
        }
    }

    fn is_place_of(&self, wd: &Stored) -> bool {
        self.place_of(wd) == Some(true)
    }

    fn may_be_place_of(&self, wd: &Stored) -> bool {
        self.place_of(wd) != Some(false)
    }

    /// The policies of cities that no WD has, here or on its way here (F7).
    fn policies(&self) -> impl Iterator<Item = Draft> + use<'_> {
        let unused = |policy: &&Stored| {
            let Some(city) = policy.object.label(CITY_CODE) else { return false };
            let on_hub = self.deployments().any(|wd| uses_policy(&wd.digest, city, true));
            let mut own = self.project.deployments.within(&self.home.namespace);
            !on_hub && !own.any(|wd| uses_policy(&wd.digest, city, false)) && !policy.object.is_terminating()
        };
        let policies = self.context.world.hub.policies.within(self.name()).filter(unused);
        policies.map(|policy| {
            let city = policy.object.label(CITY_CODE).unwrap_or_default();
            // Unused since a WD went, which no object tells: the policy's own time is all there is.
            Draft {
                discrepancy: Discrepancy::PolicyUnused,
                subject: key_of(PlaneId::Hub, Kind::PropagationPolicy, policy),
                detail: format!("no WD of the hub namespace has the city {city:?}"),
                since: changed(&policy.object, Part::Spec),
                rests_on: Vec::new(),
            }
        })
    }

    /// Copies of what no WD refers to from here, and that no WD is about to release (W5): one whose finalizer
    /// was taken off by hand leaves them.
    fn companions(&self) -> Vec<Draft> {
        let hub = &self.context.world.hub;
        let all = [(Kind::ConfigMap, &hub.config_maps), (Kind::Secret, &hub.secrets)];
        all.into_iter()
            .flat_map(|(kind, of)| of.within(self.name()).map(move |it| (kind, it)))
            .filter_map(|(kind, stored)| self.companion(kind, stored))
            .collect()
    }

    fn companion(&self, kind: Kind, stored: &Stored) -> Option<Draft> {
        let facts = stored.digest.companion()?;
        let name = stored.object.name();
        let is_used = |wd: &Stored| {
            let references = wd.digest.deployment().and_then(|facts| facts.references());
            let token = token(&self.home.namespace, wd.object.name());
            references.is_some_and(|it| {
                it.contains(kind, name) && self.may_be_place_of(wd) || it.held && facts.is_of(&token)
            })
        };
        let mut own = self.project.deployments.within(&self.home.namespace);
        if stored.object.is_terminating() || own.any(is_used) {
            return None;
        }
        let counted = || facts.referenced_by.iter().flatten().filter_map(|by| by.split_once('/'));
        let plane = || PlaneId::Project(self.home.plane.clone());
        let here = counted().filter(|(namespace, _)| *namespace == self.home.namespace);
        let names: Vec<&str> = here.clone().map(|(_, name)| name).collect();
        let detail = match names.as_slice() {
            [] => "it counts no WD".to_owned(),
            names => format!("it counts {}, which need it no more", names.join(", ")),
        };
        Some(Draft {
            discrepancy: Discrepancy::CompanionLeft,
            subject: key_of(PlaneId::Hub, kind, stored),
            detail,
            since: changed(&stored.object, Part::Spec),
            rests_on: here.map(|(namespace, name)| key(plane(), WD, namespace, name)).collect(),
        })
    }

    /// A hub namespace with nothing in it, and no use for it.
    fn empty(&self) -> Option<Draft> {
        let instances = self.context.world.hub.instances.within(self.name()).next();
        let own = self.project.deployments.within(&self.home.namespace).next();
        let used = self.deployments().next().is_some() || instances.is_some() || own.is_some();
        (!used && !self.namespace.object.is_terminating()).then(|| Draft {
            discrepancy: Discrepancy::EmptyHubNamespace,
            subject: key_of(PlaneId::Hub, Kind::Namespace, self.namespace),
            detail: format!("{}/{} has no WD", self.home.plane, self.home.namespace),
            since: changed(&self.namespace.object, Part::Spec),
            rests_on: Vec::new(),
        })
    }
}
