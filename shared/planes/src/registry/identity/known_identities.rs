//! The identities of planes that are known, and the decision on what a plane shows: pure functions.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_core::message::excerpt;
use fedhub_core::names::{PlaneName, is_uid};

use super::decision::{IdentityRefusal, IdentityVerdict};
use super::entry::{IdentityEntry, ObservedUids};
use crate::registry::services::entitlement::Grant;

/// A plane that was accepted by this process.
#[derive(Clone, Debug)]
struct Claim {
    entry: IdentityEntry,
    /// The entry that was remembered when the claim was judged.
    judged_by: Option<IdentityEntry>,
    /// All UIDs that its plane showed: the keys under which `claimed` has it.
    shown: Box<[String]>,
}

/// All known identities. No two names that are accepted at the same time have one identity.
#[derive(Debug, Default)]
pub struct KnownIdentities {
    /// Stored on the management plane.
    remembered: BTreeMap<PlaneName, IdentityEntry>,
    /// Accepted by this process, and by it alone as long as it is not remembered.
    claims: BTreeMap<PlaneName, Claim>,
    /// `remembered` by identity. It should hold one name for each; people can write what they like.
    stored: BTreeMap<String, BTreeSet<PlaneName>>,
    /// `claims` by all that their planes showed.
    claimed: BTreeMap<String, PlaneName>,
    /// The planes of `claims` that have yet to be stored.
    unwritten: BTreeSet<PlaneName>,
}

impl KnownIdentities {
    /// Returns the entry of a name: a claim that is not remembered yet precedes the entry that it was judged
    /// by.
    fn entry(&self, name: &PlaneName) -> Option<&IdentityEntry> {
        let remembered = self.remembered.get(name);
        let claim = self.claims.get(name).filter(|claim| claim.judged_by.as_ref() == remembered);
        claim.map(|claim| &claim.entry).or(remembered)
    }

    /// The identity that a name stands for.
    pub fn identity(&self, name: &PlaneName) -> Option<&str> {
        self.entry(name).map(|entry| entry.identity.as_str())
    }

    /// Decides on a plane that shows itself under `name`, which is that of this `project` now. Who is
    /// accepted keeps others out from then on. Another cluster is a new plane under an old name where its
    /// Project is another than the remembered one: its server is the authority on that.
    pub fn judge(&mut self, name: &PlaneName, seen: &ObservedUids, project: Option<&str>) -> IdentityVerdict {
        if let Some(invalid) = seen.uids().map(String::as_str).chain(project).find(|uid| !is_uid(uid)) {
            // It becomes part of an entry of the memory, of keys and of what operators read (I14).
            let shown = excerpt(invalid).into_owned();
            return IdentityVerdict::Refuse(IdentityRefusal::InvalidUid { shown });
        }
        let Some(first) = seen.uids().next() else { return IdentityVerdict::Nameless };
        let known = self.entry(name);
        let identity = match known {
            Some(known) if seen.shows(&known.identity) => known.identity.clone(),
            Some(known) if !known.is_past(project) => {
                let known = known.identity.clone();
                let seen = first.clone();
                return IdentityVerdict::Refuse(IdentityRefusal::AnotherIdentity { known, seen });
            }
            _ => first.clone(),
        };
        let grant = known.filter(|known| !known.is_past(project)).and_then(|known| known.grant);
        let project = project.map(str::to_owned).or_else(|| known?.project.clone());
        let stored = self.remembered.get(name).is_some_and(|entry| seen.shows(&entry.identity));
        if let Some(by) = seen.uids().find_map(|uid| self.rival(name, uid, stored)).cloned() {
            return IdentityVerdict::Refuse(IdentityRefusal::IdentityTaken { by, identity });
        }
        self.release(name);
        // By all that it shows: another name of this cluster may be known by the other of the two.
        let shown: Box<[String]> = seen.uids().chain([&identity]).cloned().collect();
        self.claimed.extend(shown.iter().map(|uid| (uid.clone(), name.clone())));
        let judged_by = self.remembered.get(name).cloned();
        let entry = IdentityEntry { identity, project, grant };
        self.claims.insert(name.clone(), Claim { entry, judged_by, shown });
        self.note(name);
        IdentityVerdict::Accept
    }

    /// Returns the grant of the service to the project of that name, remembered or to be.
    pub fn grant(&self, name: &PlaneName) -> Option<Grant> {
        self.entry(name)?.grant
    }

    /// Returns the stored grant of the service to the project of that name.
    pub fn stored_grant(&self, name: &PlaneName) -> Option<Grant> {
        self.remembered.get(name)?.grant
    }

    /// Notes the grant of the service to remember for a project whose plane was accepted. Returns whether it
    /// has changed.
    pub fn note_grant(&mut self, name: &PlaneName, grant: Option<Grant>) -> bool {
        let Some(entry) = self.entry(name).filter(|entry| entry.grant != grant).cloned() else {
            return false;
        };
        let judged_by = self.remembered.get(name).cloned();
        let Some(claim) = self.claims.get_mut(name) else { return false };
        (claim.entry, claim.judged_by) = (IdentityEntry { grant, ..entry }, judged_by);
        self.note(name);
        true
    }

    /// Returns the plane that has this identity and precedes `name`: a remembered one precedes others, then
    /// the lesser name does; a plane that was accepted stays so.
    fn rival(&self, name: &PlaneName, uid: &str, remembered: bool) -> Option<&PlaneName> {
        let stored = self.stored.get(uid).and_then(|names| names.iter().find(|other| *other != name));
        let stored = stored.filter(|other| !remembered || *other < name);
        stored.or_else(|| self.claimed.get(uid).filter(|other| *other != name))
    }

    /// Whether an entry is gone from what is remembered now, or says something else: whom it kept out may
    /// come in.
    pub fn loses(&self, remembered: &BTreeMap<PlaneName, IdentityEntry>) -> bool {
        self.remembered.iter().any(|(name, entry)| remembered.get(name) != Some(entry))
    }

    /// The planes whose projects have lost the service by what is remembered now.
    pub fn withdraws(&self, remembered: &BTreeMap<PlaneName, IdentityEntry>) -> Vec<PlaneName> {
        let withdrawn = Some(Grant::Withdrawn);
        let gone = remembered.iter().filter(|(_, entry)| entry.grant == withdrawn);
        gone.filter(|(name, _)| self.stored_grant(name) != withdrawn).map(|(name, _)| name.clone()).collect()
    }

    /// Replaces what is remembered, and returns the planes to check again: those whose entry was changed or
    /// removed, and those with an identity that another plane was remembered with.
    pub fn learn(&mut self, remembered: BTreeMap<PlaneName, IdentityEntry>) -> Vec<PlaneName> {
        let before = std::mem::replace(&mut self.remembered, remembered);
        self.stored.clear();
        for (name, entry) in &self.remembered {
            self.stored.entry(entry.identity.clone()).or_default().insert(name.clone());
        }
        let moot = |(name, claim): &(&PlaneName, &Claim)| {
            let entry = self.remembered.get(*name);
            let identity = &claim.entry.identity;
            let removed = before.contains_key(*name) && entry.is_none();
            let news = entry != claim.judged_by.as_ref();
            let changed = news && entry.is_some_and(|stored| stored.identity != *identity);
            let remembered = entry.is_some_and(|stored| stored.identity == *identity);
            let first = self.stored.get(identity).and_then(BTreeSet::first);
            let taken = first.is_some_and(|first| first != *name && (!remembered || first < *name));
            removed || changed || taken
        };
        let moot: Vec<_> = self.claims.iter().filter(moot).map(|(name, _)| name.clone()).collect();
        for name in &moot {
            self.release(name);
        }
        self.unwritten = self.claims.keys().filter(|name| self.is_unwritten(name)).cloned().collect();
        moot
    }

    /// The plane is not worked on any more. What is remembered of it stays so.
    pub fn release(&mut self, name: &PlaneName) {
        // Only the UIDs that it showed are looked up, not all claims: each of thousands of planes is judged
        // again and again.
        for uid in self.claims.remove(name).iter().flat_map(|claim| &claim.shown) {
            if self.claimed.get(uid) == Some(name) {
                self.claimed.remove(uid);
            }
        }
        self.unwritten.remove(name);
    }

    /// The planes that are remembered as those of Projects.
    pub fn of_projects(&self) -> impl Iterator<Item = &PlaneName> {
        self.remembered.iter().filter(|(_, entry)| entry.project.is_some()).map(|(name, _)| name)
    }

    /// Whether a plane of that name was accepted by this process.
    pub fn is_claimed(&self, name: &PlaneName) -> bool {
        self.claims.contains_key(name)
    }

    /// Returns the entries that were accepted and are not remembered yet.
    pub fn unwritten(&self) -> impl Iterator<Item = (&PlaneName, &IdentityEntry)> {
        self.unwritten.iter().filter_map(|name| Some((name, &self.claims.get(name)?.entry)))
    }

    fn is_unwritten(&self, name: &PlaneName) -> bool {
        let remembered = self.remembered.get(name);
        self.claims
            .get(name)
            .is_some_and(|claim| remembered == claim.judged_by.as_ref() && remembered != Some(&claim.entry))
    }

    /// The claim of that name has changed.
    fn note(&mut self, name: &PlaneName) {
        if self.is_unwritten(name) {
            self.unwritten.insert(name.clone());
        } else {
            self.unwritten.remove(name);
        }
    }
}

#[cfg(test)]
mod tests;
