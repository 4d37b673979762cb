//! The hub's newest resourceVersion, and what follows where it went back (I4): the hub was restored, its
//! watches would resume from a version that it has yet to reach and miss all that comes before, and what it
//! lacks proves nothing.

mod declared;
pub mod history;
pub(crate) mod revision;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fedhub_api::cells::is_city_lost;
use fedhub_api::facts::{Change, Digest, DigestExt, Instance, Known, View};
use fedhub_cache::digest::Version;
use fedhub_core::errors;
use fedhub_core::names::CITY_CODE;
use fedhub_core::object::{Kind, ObjectView, PlaneId};
use jiff::Timestamp;
use parking_lot::MutexGuard;
use tokio::time::Instant;

use crate::listwatch::newest_version;
use crate::registry::restores::history::{CityCoverage, History, Remembered};
use crate::registry::restores::revision::{Distrust, Life, Revision};
use crate::{Plane, Planes};

/// How often the hub is asked while its watches stand: one that a proxy hid the restart from notices nothing
/// else.
const EVERY: Duration = Duration::from_secs(10);

/// How often a server that did not answer is asked: the longer that takes, the more others write on it.
const SOON: Duration = Duration::from_secs(1);

impl Plane {
    pub(crate) fn life(&self) -> Life {
        Life(self.revision.as_ref().map(|revision| revision.life.subscribe()))
    }

    /// How often its server went back to an earlier state, as far as is known.
    pub fn lives(&self) -> u64 {
        self.revision.as_ref().map_or(0, |revision| *revision.life.borrow())
    }

    /// A list of `kind` is complete.
    pub(crate) fn listed(&self, kind: Kind) {
        if let Some(revision) = &self.revision {
            revision.listed().insert(kind);
        }
    }
}

impl Planes {
    /// Locks the hub's history.
    pub(crate) fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock()
    }

    /// Why what the hub lacks may never have been deleted, if there is reason to think so.
    pub fn distrust(&self) -> Option<Distrust> {
        if self.history().restored_at().is_some() {
            return Some(Distrust::Restored);
        }
        let verified = self.anchor.revision.as_ref().is_none_or(|revision| revision.is_verified());
        (!verified).then_some(Distrust::Unverified)
    }

    /// When the hub was last noticed to have been restored, also after it is trusted again.
    pub fn last_restore(&self) -> Option<Timestamp> {
        self.history().last_restore()
    }

    /// What a watch of the hub says of its versions. The last that was known of what a list lacks is of an
    /// earlier time.
    pub(crate) fn note_revision(&self, plane: &Plane, kind: Kind, change: &Change) {
        let Some(revision) = &plane.revision else { return };
        let (old, known) = match change {
            Change::Applied { old, new } => (old.as_ref(), new),
            Change::Deleted { last, inferred: false } => (None, last),
            Change::Deleted { inferred: true, .. } => return,
        };
        let Version::Number(version) = known.digest.version else { return };
        if kind == Kind::Cluster {
            // A Cluster reports the state of its cell every few seconds: nothing that a backup could lack.
            // Karmada may also serve Clusters from a store of their own, whose versions say nothing of the
            // others.
            return;
        }
        revision.newest.fetch_max(version, Ordering::AcqRel);
        let mut history = self.history();
        if history.restored_at().is_some()
            && let Some(city) = reported(kind, old, known)
        {
            history.reported(city, version);
        }
        if history.seen(version)
            && let Some(identities) = &self.identities
        {
            identities.remember();
        }
    }

    /// Checks whether the hub went back to an earlier state, so that [`Self::distrust`] says so: after the
    /// hub was read for what it lacks.
    pub async fn compare_hub(&self) {
        self.compare(&self.anchor).await;
    }

    /// Gets the hub's newest version before it is listed, and lists everything again if the hub went back.
    pub(crate) async fn compare(&self, plane: &Plane) {
        let Some(revision) = &plane.revision else { return };
        let since = Instant::now();
        let remembered = match &self.identities {
            Some(identities) => identities.loaded().await.is_ok(),
            None => true,
        };
        let mut asked = revision.asked.lock().await;
        if revision.is_verified() && asked.is_some_and(|asked| asked >= since) {
            return;
        }
        let verified = self.ask_newest(plane, revision).await;
        *asked = Some(Instant::now());
        revision.verified.store(verified && remembered, Ordering::Release);
    }

    async fn ask_newest(&self, plane: &Plane, revision: &Revision) -> bool {
        let Some(kind) = plane.kinds().next() else { return false };
        // Before the question: what events bring while the answer is on its way may be newer.
        let seen = revision.newest.load(Ordering::Acquire);
        let highest = self.history().highest();
        let newest = match newest_version(&plane.client(), kind).await {
            Ok(Some(newest)) => newest,
            Ok(None) => {
                tracing::debug!(plane = %plane.id, "newest resourceVersion is not a number");
                return false;
            }
            Err(error) => {
                let error = errors::chain(&error);
                tracing::debug!(plane = %plane.id, error, "failed to get the newest resourceVersion");
                return false;
            }
        };
        if newest < seen {
            revision.goes_back(newest);
            tracing::warn!(plane = %plane.id, seen, newest, "resourceVersions decreased, listing everything again");
        } else {
            revision.newest.fetch_max(newest, Ordering::AcqRel);
        }
        let now = self.clock().now();
        let before = self.history().remembered();
        if self.history().compare(highest, newest, now) {
            tracing::warn!(
                plane = %plane.id,
                seen = highest,
                newest,
                "hub was restored from a backup: no deletion is inferred until every cell in use has written back \
                 or `fedhub hub accept-restore` is run"
            );
            self.restored_changed();
            self.judge_declarations(before);
        }
        true
    }

    /// Asks the hub again and again, and trusts it again when every cell in use has written back.
    pub(crate) async fn keep_comparing(self: Arc<Self>) {
        let hub = self.anchor.clone();
        let mut awaited = BTreeSet::new();
        let Some(revision) = &hub.revision else { return };
        let keep = async {
            loop {
                tokio::time::sleep(if revision.is_verified() { EVERY } else { SOON }).await;
                if hub.synced() {
                    if revision.is_verified() {
                        let _alone = revision.asked.lock().await;
                        self.ask_newest(&hub, revision).await;
                    } else {
                        self.compare(&hub).await;
                    }
                    self.judge_restore(&hub, revision, &mut awaited);
                }
            }
        };
        tokio::select! { biased; () = hub.stop.cancelled() => (), () = keep => () }
    }

    fn judge_restore(&self, hub: &Plane, revision: &Revision, awaited: &mut BTreeSet<String>) {
        let Some(at) = self.history().restored_at() else { return };
        let listed = hub.kinds().all(|kind| revision.listed().contains(&kind));
        if !listed || !self.warm() {
            return;
        }
        let cities = self.cities(hub, at);
        let now = self.history().awaited(&cities);
        if now.is_empty() {
            tracing::info!(
                "every cell in use has written back since the restore: deletions are inferred again"
            );
            self.history().accept();
            self.restored_changed();
        } else if now != *awaited {
            tracing::warn!(cities = ?now, "hub was restored: cells that have not written back");
        }
        *awaited = now;
    }

    fn cities(&self, hub: &Plane, restored_at: u64) -> CityCoverage {
        let wd = Kind::WorkloadDeployment;
        let mut cities = CityCoverage::default();
        let city = |digest: &Digest| digest.city().map(str::to_owned);
        // A city that no Cluster carries and whose WD was never reported on has no cell that could write
        // back.
        let clusters = self.clusters();
        let served: BTreeSet<&str> = clusters.iter().filter_map(|c| c.label(CITY_CODE)).collect();
        let has_cell = |wd: &Digest| {
            wd.deployment()
                .is_some_and(|d| d.reported() || d.city.as_deref().is_some_and(|code| served.contains(code)))
        };
        let used = |wd: View<'_>| city(wd.digest).filter(|_| !wd.digest.terminating && has_cell(wd.digest));
        cities.used.extend(hub.store(wd).select(None, used));
        let of = |plane: &Plane, namespace: &str, deployment: Option<String>| {
            city(&plane.store(wd).digest(namespace, &deployment?)?)
        };
        // On a project plane only what the projector put there: tenants can make Instances, too.
        let is_copy = |plane: &Plane, view: &View<'_>| {
            plane.id == PlaneId::Hub || view.digest.instance().is_some_and(Instance::is_marked)
        };
        let copies = |plane: &Plane| {
            let store = plane.store(Kind::Instance);
            store.select(None, |view| is_copy(plane, &view).then(|| placed(view)))
        };
        for (namespace, deployment, version) in copies(hub) {
            let Some(city) = of(hub, &namespace, deployment) else { continue };
            if version.is_some_and(|version| version > restored_at) {
                cities.written.insert(city.clone());
            }
            cities.copied.insert(city);
        }
        for project in self.projects() {
            for (namespace, deployment, _) in copies(&project) {
                cities.copied.extend(of(&project, &namespace, deployment));
            }
        }
        cities.used.extend(cities.copied.iter().cloned());
        // C11: a lost cell is not waited for.
        cities.used.retain(|city| !is_city_lost(&clusters, city));
        cities
    }

    /// Takes over what the management plane remembers of the hub.
    pub(crate) fn learn_history(&self, stored: Option<Remembered>) {
        let before = self.history().remembered();
        if self.history().learn(stored) {
            let restored = self.history().restored_at().is_some();
            tracing::warn!(restored, "restore state of the hub was changed on the management plane");
        }
        self.metrics.hub_restored.set(self.history().restored_at().is_some().into());
        self.judge_declarations(before);
    }

    /// Whether deletions are inferred changed, and is to be stored and shown.
    pub(crate) fn restored_changed(&self) {
        self.metrics.hub_restored.set(self.history().restored_at().is_some().into());
        if let Some(identities) = &self.identities {
            identities.remember();
        }
    }
}

/// Returns the namespace of an Instance, the name of its WD, and its version.
fn placed(view: View<'_>) -> (String, Option<String>, Option<u64>) {
    let deployment = view.digest.instance().and_then(|facts| facts.deployment(view.name));
    let version = if let Version::Number(version) = view.digest.version { Some(version) } else { None };
    (view.namespace.to_owned(), deployment.map(str::to_owned), version)
}

/// The city of a WD whose status changed: only Karmada writes it, by what the cell says.
fn reported<'a>(kind: Kind, old: Option<&Known>, new: &'a Known) -> Option<&'a str> {
    let before = old.filter(|old| old.digest.uid == new.digest.uid)?.digest.deployment()?;
    let now = new.digest.deployment()?;
    let news = (before.status, before.observed_generation()) != (now.status, now.observed_generation());
    now.city.as_deref().filter(|_| kind == Kind::WorkloadDeployment && now.reported() && news)
}
