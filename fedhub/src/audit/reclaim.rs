//! `fedhub audit --reclaim`: deletes orphans on the hub (F11), each proven anew just before, once an operator
//! has agreed.
//!
//! An orphan is proven where its plane answers as the very cluster that fedhub remembers for its name, a read
//! of that plane finds no WD of its UID, and the hub WD is read again; it is deleted as it was read and not
//! otherwise.

use std::collections::BTreeMap;

use fedhub_core::names::{CITY_CODE, PlaneName};
use fedhub_core::object::{Key, Kind, Object, ObjectView};
use fedhub_federator::is_orphaned;
use fedhub_federator::snapshot::source;
use fedhub_planes::ProjectNamespace;
use jiff::Timestamp;

use super::finding::{Discrepancy, Finding};
use super::read::Gathered;
use crate::operator::deletion::{Outcome, delete};
use crate::operator::fleet::check_identity;
use crate::operator::planes::paused;
use crate::operator::read::Read;
use crate::operator::requests::get;
use fedhub_terminal::plain;
use fedhub_terminal::table::{age, table};

const WD: Kind = Kind::WorkloadDeployment;
/// Field manager of the write that takes the protection off.
const MANAGER: &str = "fedhub-audit";

/// An orphan that was found.
#[derive(Clone, Debug)]
pub struct Orphan {
    /// Its key on the hub.
    key: Key,
    uid: String,
    home: ProjectNamespace,
    city: String,
    created: Option<Timestamp>,
    /// How many Instances it has on the hub.
    instances: usize,
    /// Why it cannot be proven an orphan.
    doubt: Option<String>,
}

/// The orphans among the findings.
pub fn orphans(gathered: &Gathered, findings: &[Finding]) -> Vec<Orphan> {
    let hub = &gathered.world.hub;
    let found = findings.iter().filter(|it| it.discrepancy == Discrepancy::Orphan && !it.settling);
    let orphan = |finding: &Finding| {
        let key = finding.subject.clone();
        let object = &hub.deployments.get(&key.namespace, &key.name)?.object;
        let home = ProjectNamespace::from_hub_namespace(&hub.namespaces.get("", &key.namespace)?.object)?;
        let is_its = |it: &Object| fedhub_api::facts::instance::deployment_name(it) == Some(&*key.name);
        let unknown = !gathered.identities.contains_key(home.plane.as_str());
        let pause = gathered.world.paused.pause(home.plane.as_str());
        let doubt = unknown
            .then(|| format!("fedhub remembers no identity of plane {}", home.plane))
            .or_else(|| pause.map(|pause| format!("plane {} is paused, {pause}", home.plane)));
        Some(Orphan {
            uid: object.uid().to_owned(),
            city: object.label(CITY_CODE).unwrap_or_default().to_owned(),
            created: object.metadata.creation_timestamp.as_ref().map(|at| at.0),
            instances: hub.instances.within(&key.namespace).filter(|it| is_its(&it.object)).count(),
            home,
            key,
            doubt,
        })
    };
    found.filter_map(orphan).collect()
}

/// How many WDs each plane has on the hub, orphans included.
pub fn deployments(gathered: &Gathered) -> BTreeMap<PlaneName, usize> {
    let mut counts = BTreeMap::new();
    let hub = &gathered.world.hub;
    for namespace in hub.namespaces.iter() {
        if let Some(home) = ProjectNamespace::from_hub_namespace(&namespace.object) {
            *counts.entry(home.plane).or_default() += hub.deployments.within(namespace.object.name()).count();
        }
    }
    counts
}

/// Up to how many orphans of a plane are no sign of anything, whatever share of its WDs they are.
const FEW: usize = 3;
/// The share of a plane's WDs on the hub, one in this many, above which orphans are a sign that the plane
/// lost its state.
const SHARE: usize = 4;

/// Returns why this many orphans are not deleted at once, a line for each reason: ending what runs cannot be
/// undone.
pub fn too_many(
    provable: &[&Orphan],
    deployments: &BTreeMap<PlaneName, usize>,
    at_most: usize,
    any_share: bool,
) -> Vec<String> {
    let mut reasons = Vec::new();
    if provable.len() > at_most {
        reasons.push(format!(
            "{} orphans are proven, and at most {at_most} are deleted at once: once you are sure of all, raise --at-most",
            provable.len()
        ));
    }
    let mut orphans = BTreeMap::<&PlaneName, usize>::new();
    if !any_share {
        for orphan in provable {
            *orphans.entry(&orphan.home.plane).or_default() += 1;
        }
    }
    for (plane, count) in orphans {
        let all = deployments.get(plane).copied().unwrap_or_default();
        if count > FEW && count * SHARE > all {
            reasons.push(format!(
                "{count} of the {all} WDs that plane {plane} has on the hub are orphans: it may have been restored from an \
                 old backup; once you are sure that it was not, give --plane {plane} --any-share"
            ));
        }
    }
    reasons
}

/// The list that an operator agrees to.
pub fn list(orphans: &[Orphan], deployments: &BTreeMap<PlaneName, usize>, now: Timestamp) -> String {
    let header = ["PLANE", "ITS WDS", "WD", "HUB NAMESPACE", "CITY", "AGE", "INSTANCES", "PROVEN"];
    let row = |it: &Orphan| {
        vec![
            it.home.plane.to_string(),
            deployments.get(&it.home.plane).copied().unwrap_or_default().to_string(),
            format!("{}/{}", it.home.namespace, it.key.name),
            it.key.namespace.to_string(),
            it.city.clone(),
            it.created.map_or_else(String::new, |created| age(created, now)),
            it.instances.to_string(),
            it.doubt.as_ref().map_or_else(|| "yes".to_owned(), |doubt| format!("no: {doubt}")),
        ]
    };
    let header = header.map(str::to_owned).to_vec();
    table(&std::iter::once(header).chain(orphans.iter().map(row)).collect::<Vec<_>>())
}

impl Orphan {
    /// Whether it may be deleted at all.
    pub fn is_provable(&self) -> bool {
        self.doubt.is_none()
    }

    /// A line that says what became of it.
    pub fn line(&self, outcome: &Outcome) -> String {
        let Self { key, home, .. } = self;
        let line = format!("{}/{} of {}/{}: {outcome}", key.namespace, key.name, home.plane, home.namespace);
        plain(&line).into_owned()
    }

    /// Proves it anew, and deletes it.
    pub async fn reclaim(&self, gathered: &Gathered) -> Outcome {
        match self.prove(gathered).await {
            Ok(hub) => match gathered.hub.found() {
                Some(plane) => delete(plane, WD, &hub, MANAGER).await,
                None => Outcome::Kept("the hub is not asked".to_owned()),
            },
            Err(outcome) => outcome,
        }
    }

    /// The hub WD as it is now, if it is an orphan now.
    async fn prove(&self, gathered: &Gathered) -> Result<Object, Outcome> {
        let kept = |why: &str| Outcome::Kept(why.to_owned());
        let plane = &self.home.plane;
        let (management, namespace) = &gathered.management;
        match paused(management, namespace).await {
            Read::Found(paused) if paused.pause(plane.as_str()).is_some() => {
                return Err(kept("its plane is paused by now"));
            }
            Read::Failed(error) => return Err(Outcome::Failed(error.message)),
            Read::Found(_) | Read::Absent | Read::Skipped => {}
        }
        let Some(project) = gathered.projects.get(plane).filter(|_| self.is_provable()) else {
            return Err(kept("its plane is not known for certain"));
        };
        // Before anything else: whatever changes from here on changes the version that is deleted.
        let hub = match get(&gathered.hub, WD.resource(), &self.key.namespace, &self.key.name).await {
            Read::Found(hub) if hub.uid() == self.uid => hub,
            Read::Found(_) => return Err(kept("another WD has its name by now")),
            Read::Absent => return Err(Outcome::Gone),
            Read::Skipped => return Err(kept("the hub is not asked")),
            Read::Failed(error) => return Err(Outcome::Failed(error.message)),
        };
        match get(&gathered.hub, Kind::Namespace.resource(), "", &self.key.namespace).await {
            Read::Found(namespace)
                if ProjectNamespace::from_hub_namespace(&namespace).as_ref() == Some(&self.home) => {}
            Read::Failed(error) => return Err(Outcome::Failed(error.message)),
            _ => return Err(kept("its hub namespace names another project namespace by now")),
        }
        if let Err(unread) = check_identity(plane, project, &gathered.identities).await {
            return Err(Outcome::Kept(unread.problem.to_string()));
        }
        let living = match get(project, WD.resource(), &self.home.namespace, &self.key.name).await {
            Read::Found(living) => Some(living),
            Read::Absent => None,
            Read::Skipped => return Err(kept("its plane is not asked")),
            Read::Failed(error) => return Err(Outcome::Kept(format!("its plane fails: {}", error.message))),
        };
        let orphaned = is_orphaned(&hub, living.as_ref(), &source(&self.home, &self.key.name));
        if orphaned { Ok(hub) } else { Err(kept("it is no orphan any more")) }
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::PlaneId;

    use super::*;

    fn orphans(of: &[(&str, usize)]) -> Vec<Orphan> {
        let orphan = |plane: &str| {
            let plane = PlaneName::new(plane).unwrap();
            Orphan {
                key: Key { plane: PlaneId::Hub, kind: WD, namespace: "ns-1".into(), name: "web".into() },
                uid: String::new(),
                home: ProjectNamespace { plane, namespace: "shop".to_owned() },
                city: "DFW".to_owned(),
                created: None,
                instances: 1,
                doubt: None,
            }
        };
        of.iter().flat_map(|(plane, count)| std::iter::repeat_with(|| orphan(plane)).take(*count)).collect()
    }

    #[test]
    fn f11_more_orphans_than_asked_for_or_a_share_of_a_plane_are_not_deleted() {
        for (of, at_most, any_share, expected) in [
            (&[("a", 3)][..], 10, false, &[][..]),
            (&[("a", 25)], 25, false, &[]),
            (&[("a", 25)], 24, false, &["at most 24"]),
            (&[("a", 26)], 30, false, &["26 of the 100 WDs that plane a"]),
            (&[("a", 26)], 30, true, &[]),
            (&[("b", 3)], 10, false, &[]),
            (&[("b", 4), ("a", 1)], 10, false, &["4 of the 4 WDs that plane b"]),
            (&[("b", 4), ("a", 26)], 10, false, &["at most 10", "plane a", "plane b"]),
            (&[("gone", 4)], 10, false, &["4 of the 0"]),
            (&[("a", 1)], 0, true, &["at most 0"]),
        ] {
            let orphans = orphans(of);
            let counts = [("a", 100), ("b", 4)].map(|(name, count)| (PlaneName::new(name).unwrap(), count));
            let all: Vec<&Orphan> = orphans.iter().collect();
            let reasons = too_many(&all, &counts.into(), at_most, any_share);
            assert_eq!(reasons.len(), expected.len(), "{of:?}: {reasons:?}");
            assert!(
                reasons.iter().zip(expected).all(|(reason, part)| reason.contains(part)),
                "{of:?}: {reasons:?}"
            );
        }
    }
}
