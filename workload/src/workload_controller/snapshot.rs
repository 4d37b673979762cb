//! The state of the caches for one Workload, and what live reads of one reconcile have added.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::time::Duration;

use fedhub_api::facts::carried::WantedTemplate;
use fedhub_api::facts::deployment::mark_hash;
use fedhub_api::facts::placed::WantedDeployment;
use fedhub_api::facts::workload::{MOST_SUSPENDED, Placement};
use fedhub_api::facts::{Deployment, Digest, DigestExt, Placed, Workload};
use fedhub_api::reason::Reason;
use fedhub_cache::digest::Version;
use fedhub_core::hash::KeyedHasher;
use fedhub_core::names::{deployment_name, is_label_value};
use fedhub_core::object::{Key, ObjectRef, ObjectView};
use fedhub_planes::{ServiceState, WriteState};
use jiff::Timestamp;

use super::lifecycle::TypeState;
use super::options::Options;
use super::turns::Turns;
use crate::locations::Locations;
use crate::networks::Networks;

/// The inputs of a plan.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The Workload's key.
    pub key: Key,
    /// The Workload; `None` where it is gone.
    pub workload: Option<Digest>,
    /// The WDs of its namespace that name it or have a name that it wants, by name.
    pub deployments: BTreeMap<String, Digest>,
    /// The WorkloadRollout of its name, if there is one.
    pub rollout: Option<ObjectRef>,
    /// Where new WDs can be placed.
    pub locations: Locations,
    /// The state of the type of its instances; `None` where nothing is known of types.
    pub type_state: Option<TypeState>,
    /// The networks that its template names, as far as they are known.
    pub networks: Networks,
    /// Whether the plane takes writes.
    pub writes: WriteState,
    /// Whether the service runs in the project (W9).
    pub service: ServiceState,
    /// The time.
    pub now: Timestamp,
    /// How long the rollout has made no progress.
    pub stalled: Duration,
    /// What the operator chose for all Workloads.
    pub options: Options,
    /// The facts that this reconcile has learned besides those of the caches.
    pub learnt: Learnt,
    /// Whose turn it is, once it was decided.
    pub turns: OnceLock<Turns>,
}

/// The facts that a reconcile has learned besides those of the caches.
#[derive(Clone, Debug, Default)]
pub struct Learnt {
    /// The version of the Workload that a live read has shown to be the newest.
    pub confirmed: Option<Version>,
    /// Whether a live list has shown that no WD of a terminating Workload is left.
    pub none_left: bool,
    /// Whether the newest template could not be recorded.
    pub unrecorded: bool,
    /// The WDs that are what the server makes of what is wanted: the version of each, and
    /// [`WantedDeployment::content`].
    pub settled: BTreeMap<String, (Version, u64)>,
    /// The WDs whose template is what the server makes of a revision: the version of each, and that revision.
    pub made_of: BTreeMap<String, (Version, u64)>,
    /// The status of the WorkloadRollout whose write would change nothing, by its hash.
    pub rollout_settled: Option<u64>,
    /// The revisions that are assigned to WDs, and that the history does not have any more.
    pub forgotten: BTreeSet<u64>,
    /// The WDs that the plane refused to take, with its words.
    pub refused: BTreeMap<String, RefusedDeployment>,
    /// A WD that the Workload owns and that names another one: it holds a terminating Workload.
    pub stranger: Option<String>,
    /// The status whose write would change nothing, by its content: what stands is what the server makes of
    /// it.
    pub status_settled: Option<u64>,
}

/// A WD that a plane refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedDeployment {
    /// The reason of the condition that says so.
    pub reason: Reason,
    /// The plane's words.
    pub message: String,
}

/// A WD that a Workload asks for: one city of one placement.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// The WD's name.
    pub name: String,
    /// What it is to be.
    pub wanted: WantedDeployment<'a>,
    /// Whether it is not created while it does not exist.
    pub is_withheld: bool,
}

/// A city of a placement, as a plan sees it.
#[derive(Clone, Debug)]
pub enum SiteState<'a> {
    /// Its WD is the Workload's own.
    Placed(&'a Digest, &'a Placed),
    /// The site has no WD yet, and gets one.
    Missing,
    /// The site has no WD yet, and gets none until the rollout goes on.
    Withheld,
    /// The site has no WD yet, and gets none: nothing can be placed there (W7).
    Unplaceable,
    /// Its code cannot be the value of a label.
    InvalidCity,
    /// A WD of another Workload, or of none, has its name.
    NameTaken,
    /// An earlier city of the Workload has its name.
    Duplicate,
    /// The plane refused its WD, or a change of the one that is the Workload's own already.
    Refused(&'a RefusedDeployment, Option<&'a Placed>),
}

impl<'a> SiteState<'a> {
    /// Returns the facts of the city's own WD.
    pub fn placed(&self) -> Option<&'a Placed> {
        match self {
            Self::Placed(_, placed) => Some(*placed),
            Self::Refused(_, placed) => *placed,
            Self::Missing
            | Self::Withheld
            | Self::Unplaceable
            | Self::InvalidCity
            | Self::NameTaken
            | Self::Duplicate => None,
        }
    }
}

impl Snapshot {
    /// The facts of the Workload.
    pub fn facts(&self) -> Option<&Workload> {
        self.workload.as_ref()?.workload()
    }

    /// The Workload's placements with the cities of each, by name (W3); nothing where they cannot be read.
    pub fn sites<'a>(&'a self, uid: &'a str) -> Vec<(&'a str, Vec<Site<'a>>)> {
        let Some(facts) = self.facts() else { return Vec::new() };
        let turns = self.turns();
        let placements = facts.placements.iter().flatten();
        let sites = placements.map(|placement| {
            let cities = placement.cities.iter();
            let mut sites: Vec<_> =
                cities.map(|city| self.site(facts, turns, placement, city, uid)).collect();
            sites.sort_by_key(|site| site.wanted.city);
            (&*placement.name, sites)
        });
        sites.collect()
    }

    fn site<'a>(
        &'a self,
        facts: &'a Workload,
        turns: &Turns,
        placement: &'a Placement,
        city: &'a str,
        uid: &'a str,
    ) -> Site<'a> {
        let name = deployment_name(&self.key.name, &placement.name, city);
        let template = turns.template(&name, facts);
        Site {
            wanted: WantedDeployment {
                template: facts.template,
                restart: facts.restart,
                scale: placement.scale,
                placement: &placement.name,
                city,
                workload: &self.key.name,
                uid,
                which: template.unwrap_or(WantedTemplate::Kept),
                suspend: facts.suspend,
            },
            is_withheld: template.is_none(),
            name,
        }
    }

    /// The state of each of `sites`, in their order.
    pub fn states<'a>(&'a self, uid: &str, sites: &[(&'a str, Vec<Site<'a>>)]) -> Vec<Vec<SiteState<'a>>> {
        let mut names = BTreeSet::new();
        let mut state = |site: &Site<'a>| {
            if names.insert(site.name.clone()) { self.state(uid, site) } else { SiteState::Duplicate }
        };
        sites.iter().map(|(_, sites)| sites.iter().map(&mut state).collect()).collect()
    }

    fn state<'a>(&'a self, uid: &str, site: &Site<'a>) -> SiteState<'a> {
        let stands = self.deployments.get(&site.name);
        if let Some(refusal) = self.learnt.refused.get(&site.name) {
            return SiteState::Refused(refusal, stands.and_then(|it| own(it, uid)));
        }
        match stands {
            Some(deployment) => match own(deployment, uid) {
                Some(placed) => SiteState::Placed(deployment, placed),
                None => SiteState::NameTaken,
            },
            None if !is_label_value(site.wanted.city) => SiteState::InvalidCity,
            None if !self.locations.contain(site.wanted.city) => SiteState::Unplaceable,
            None if site.is_withheld => SiteState::Withheld,
            None => SiteState::Missing,
        }
    }

    /// The WDs that are suspended by themselves, or were when they were deleted by hand and are to come back.
    pub fn suspended(&self, uid: &str) -> Vec<String> {
        let Some(facts) = self.facts() else { return Vec::new() };
        let sites = self.sites(uid);
        let stands = |name: &str| self.deployments.get(name).is_some_and(|it| own(it, uid).is_some());
        let gone = sites.iter().flat_map(|(_, sites)| sites).filter(|site| !stands(&site.name));
        let gone = gone.filter(|site| facts.suspended.iter().any(|name| **name == *site.name));
        let standing = self.own(uid).filter(|(_, _, placed)| placed.suspended && !placed.workload_suspended);
        let names: BTreeSet<_> =
            gone.map(|site| site.name.clone()).chain(standing.map(|(name, ..)| name.clone())).collect();
        names.into_iter().take(MOST_SUSPENDED).collect()
    }

    /// Whether that is not what the Workload remembers.
    pub fn forgets_suspended(&self, uid: &str) -> bool {
        let known = self.facts().map_or(&[][..], |facts| &facts.suspended);
        !known.iter().map(|name| &**name).eq(self.suspended(uid).iter().map(String::as_str))
    }

    /// Whether the WD of a site is what is wanted, or what the server makes of that.
    pub fn is_as_wanted(&self, site: &Site<'_>, placed: &Placed) -> bool {
        let settled = || {
            let (version, content) = self.learnt.settled.get(&site.name)?;
            let stands = self.deployments.get(&site.name)?;
            Some(*version == stands.version && *content == site.wanted.content())
        };
        placed.is(&site.wanted) || settled() == Some(true)
    }

    /// Whether the template of a WD is what the server makes of that revision.
    pub fn is_made_of(&self, name: &str, revision: u64) -> bool {
        let stands = self.deployments.get(name).zip(self.learnt.made_of.get(name));
        stands.is_some_and(|(digest, (version, made_of))| *version == digest.version && *made_of == revision)
    }

    /// Whether the WD of a site has the Workload's own template, or what the server makes of that.
    pub fn has_newest(&self, site: &Site<'_>, placed: &Placed) -> bool {
        let newest = self.facts().and_then(|facts| facts.revision);
        placed.has_template_of(&site.wanted) || newest.is_some_and(|it| self.is_made_of(&site.name, it))
    }

    /// Whether the service was withdrawn from the project (W9).
    pub fn is_withdrawn(&self) -> bool {
        self.service == ServiceState::Withdrawn
    }

    /// The WDs of the Workload with that UID, wanted or not.
    pub fn own<'a>(&'a self, uid: &str) -> impl Iterator<Item = (&'a String, &'a Digest, &'a Placed)> {
        let uid = mark_hash(Some(uid));
        self.deployments.iter().filter_map(move |(name, deployment)| {
            let placed = placed(deployment).filter(|placed| placed.uid == uid)?;
            Some((name, deployment, placed))
        })
    }

    /// Hash of all inputs that a plan depends on; zero where it depends on the time, or on what only this
    /// reconcile knows.
    pub fn fingerprint(&self) -> u64 {
        let Some(workload) = self.workload.as_ref() else { return 0 };
        let has_learnt = !self.learnt.refused.is_empty() || !self.learnt.forgotten.is_empty();
        if has_learnt || self.learnt.unrecorded || self.next_deadline().is_some() {
            return 0;
        }
        let mut sum = KeyedHasher::default()
            .number(workload.content)
            .number(self.writes as u64)
            .number(self.service as u64)
            .number(self.locations.by as u64)
            .number(self.options.default_rollout as u64)
            .maybe(self.rollout.as_ref().map(|rollout| rollout.version()));
        let cities = self.facts().into_iter().flat_map(|facts| facts.placements.iter().flatten());
        for city in cities.flat_map(|placement| &placement.cities) {
            sum = sum.number(u64::from(self.locations.contain(city)));
        }
        for message in self.type_state.iter().flat_map(TypeState::messages) {
            sum = sum.maybe(message.as_deref());
        }
        sum = sum.maybe(self.facts().and_then(|facts| self.networks.message(facts)).as_deref());
        for (name, deployment) in &self.deployments {
            // By that a Workload is released whose service was withdrawn.
            let held = self.is_withdrawn() && is_held(deployment);
            let flags = u64::from(held) << 1 | u64::from(deployment.terminating);
            sum = sum.text(name).text(&deployment.uid.to_string()).number(flags);
            let Some(placed) = placed(deployment) else { continue };
            let flags = u64::from(placed.workload_suspended) << 3
                | u64::from(placed.suspended) << 2
                | u64::from(placed.available) << 1
                | u64::from(placed.observed)
                | u64::from(placed.unreachable) << 4
                | placed.stuck.map_or(0, |reason| (reason as u64 + 1) << 5);
            sum = sum
                .number(placed.uid)
                .number(placed.identity)
                .number(placed.template)
                .number(placed.restart)
                .number(placed.carried.number())
                .number(placed.assigned.map_or(0, |assigned| assigned.saturating_add(1)))
                .number(placed.says)
                .number(u64::from(placed.stopped.cast_unsigned()))
                .number(flags);
            sum = placed.counters.iter().fold(sum, |sum, n| sum.number(u64::from(n.cast_unsigned())));
        }
        sum.end().max(1)
    }
}

/// Whether a finalizer of fedhub's holds a WD: something of it may be on the hub.
pub fn is_held(deployment: &Digest) -> bool {
    deployment.deployment().is_some_and(Deployment::is_held)
}

/// Returns the facts of a WD that names a Workload.
pub fn placed(deployment: &Digest) -> Option<&Placed> {
    deployment.deployment()?.placed.as_deref()
}

/// What a WD has of the Workload with this UID; `None` if the WD belongs to another one.
pub fn own<'a>(deployment: &'a Digest, uid: &str) -> Option<&'a Placed> {
    placed(deployment).filter(|placed| placed.uid == mark_hash(Some(uid)))
}
