//! The identities of planes that are known, and the decision on what a plane shows: pure functions.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_core::names::PlaneName;

use super::decision::{IdentityRefusal, IdentityVerdict};
use super::entry::{IdentityEntry, ObservedUids};

/// A plane that was accepted by this process.
#[derive(Clone, Debug)]
struct Claim {
    entry: IdentityEntry,
    /// What was remembered then.
    judged_by: Option<IdentityEntry>,
}

/// All identities that are known. No two names that are accepted at the same time have one identity.
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
}

impl KnownIdentities {
    /// What a name stands for: a claim that is not remembered yet comes before what it was judged by.
    fn entry(&self, name: &PlaneName) -> Option<&IdentityEntry> {
        let remembered = self.remembered.get(name);
        let claim = self.claims.get(name).filter(|claim| claim.judged_by.as_ref() == remembered);
        claim.map(|claim| &claim.entry).or(remembered)
    }

    /// The identity that a name stands for.
    pub fn identity(&self, name: &PlaneName) -> Option<&str> {
        self.entry(name).map(|entry| entry.identity.as_str())
    }

    /// Decides on a plane that shows itself under `name`, which is that of this `project` now. Who is accepted
    /// keeps others out from then on. Another cluster is a new plane under an old name where its Project is another than
    /// the remembered one: its server is the authority on that.
    pub fn judge(&mut self, name: &PlaneName, seen: &ObservedUids, project: Option<&str>) -> IdentityVerdict {
        let Some(first) = seen.uids().next() else { return IdentityVerdict::Nameless };
        let known = self.entry(name);
        let identity = match known {
            Some(known) if seen.shows(&known.identity) => known.identity.clone(),
            Some(known) if !known.is_past(project) => {
                let (known, seen) = (known.identity.clone(), first.clone());
                return IdentityVerdict::Refuse(IdentityRefusal::AnotherIdentity { known, seen });
            }
            _ => first.clone(),
        };
        let project = project.map(str::to_owned).or_else(|| known?.project.clone());
        let stored = self.remembered.get(name).is_some_and(|entry| seen.shows(&entry.identity));
        if let Some(by) = seen.uids().find_map(|uid| self.rival(name, uid, stored)).cloned() {
            return IdentityVerdict::Refuse(IdentityRefusal::IdentityTaken { by, identity });
        }
        self.release(name);
        // By all that it shows: another name of this cluster may be known by the other of the two.
        self.claimed.extend(seen.uids().map(|uid| (uid.clone(), name.clone())));
        self.claimed.insert(identity.clone(), name.clone());
        let judged_by = self.remembered.get(name).cloned();
        self.claims.insert(name.clone(), Claim { entry: IdentityEntry { identity, project }, judged_by });
        IdentityVerdict::Accept
    }

    /// Who has this identity and comes before `name`: what is remembered comes before what is not, then the lesser
    /// name does; and whoever is accepted stays so.
    fn rival(&self, name: &PlaneName, uid: &str, remembered: bool) -> Option<&PlaneName> {
        let stored = self.stored.get(uid).and_then(|names| names.iter().find(|other| *other != name));
        let stored = stored.filter(|other| !remembered || *other < name);
        stored.or_else(|| self.claimed.get(uid).filter(|other| *other != name))
    }

    /// Whether an entry is gone from what is remembered now, or says something else: whom it kept out may come in.
    pub fn loses(&self, remembered: &BTreeMap<PlaneName, IdentityEntry>) -> bool {
        self.remembered.iter().any(|(name, entry)| remembered.get(name) != Some(entry))
    }

    /// Replaces what is remembered, and returns the planes to check again: those whose entry was changed or removed, and
    /// those with an identity that another plane was remembered with.
    pub fn learn(&mut self, remembered: BTreeMap<PlaneName, IdentityEntry>) -> Vec<PlaneName> {
        let before = std::mem::replace(&mut self.remembered, remembered);
        self.stored.clear();
        for (name, entry) in &self.remembered {
            self.stored.entry(entry.identity.clone()).or_default().insert(name.clone());
        }
        let moot = |(name, claim): &(&PlaneName, &Claim)| {
            let (entry, identity) = (self.remembered.get(*name), &claim.entry.identity);
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
        moot
    }

    /// The plane is not worked on any more. What is remembered of it stays so.
    pub fn release(&mut self, name: &PlaneName) {
        if self.claims.remove(name).is_some() {
            self.claimed.retain(|_, by| by != name);
        }
    }

    /// What was accepted and is not remembered yet.
    pub fn unwritten(&self) -> Vec<(PlaneName, IdentityEntry)> {
        let new = self.claims.iter().filter(|(name, claim)| {
            let remembered = self.remembered.get(*name);
            remembered == claim.judged_by.as_ref() && remembered != Some(&claim.entry)
        });
        new.map(|(name, claim)| (name.clone(), claim.entry.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plane(name: &str) -> PlaneName {
        PlaneName::new(name).unwrap()
    }

    fn stored(entries: &[(&str, &str)]) -> BTreeMap<PlaneName, IdentityEntry> {
        entries.iter().map(|(name, entry)| (plane(name), IdentityEntry::read(entry).unwrap())).collect()
    }

    fn sees(kube_system: &str, default: &str) -> ObservedUids {
        let uid = |uid: &str| Some(uid.to_owned()).filter(|uid| !uid.is_empty());
        ObservedUids { kube_system: uid(kube_system), default: uid(default) }
    }

    fn another(known: &str, seen: &str) -> IdentityVerdict {
        IdentityVerdict::Refuse(IdentityRefusal::AnotherIdentity {
            known: known.to_owned(),
            seen: seen.to_owned(),
        })
    }

    fn taken(by: &str, identity: &str) -> IdentityVerdict {
        IdentityVerdict::Refuse(IdentityRefusal::IdentityTaken {
            by: plane(by),
            identity: identity.to_owned(),
        })
    }

    #[test]
    fn i4_a_name_stands_for_one_cluster_and_a_cluster_has_one_name() {
        for (what, remembered, name, seen, expected) in [
            ("the first time", &[][..], "a", sees("k", "d"), IdentityVerdict::Accept),
            ("as remembered", &[("a", "k")], "a", sees("k", "d"), IdentityVerdict::Accept),
            ("a twin", &[("a", "k")], "a", sees("x", "y"), another("k", "x")),
            ("a twin without kube-system", &[("a", "k")], "a", sees("", "y"), another("k", "y")),
            ("no kube-system", &[], "a", sees("", "d"), IdentityVerdict::Accept),
            ("kube-system came later", &[("a", "d")], "a", sees("k", "d"), IdentityVerdict::Accept),
            ("nothing to go by", &[], "a", sees("", ""), IdentityVerdict::Nameless),
            ("nothing to go by any more", &[("a", "k")], "a", sees("", ""), IdentityVerdict::Nameless),
            ("a second name", &[("a", "k")], "b", sees("k", "d"), taken("a", "k")),
            ("a second name that is less", &[("b", "k")], "a", sees("k", "d"), taken("b", "k")),
            ("a second name, known by default", &[("a", "d")], "b", sees("k", "d"), taken("a", "k")),
            (
                "two remembered: the first",
                &[("a", "k"), ("b", "k")],
                "a",
                sees("k", "d"),
                IdentityVerdict::Accept,
            ),
            ("two remembered: the second", &[("a", "k"), ("b", "k")], "b", sees("k", "d"), taken("a", "k")),
            ("a neighbour", &[("b", "l")], "a", sees("k", "d"), IdentityVerdict::Accept),
        ] {
            let mut known = KnownIdentities::default();
            known.learn(stored(remembered));
            assert_eq!(known.judge(&plane(name), &seen, None), expected, "{what}");
        }
    }

    #[test]
    fn i4_a_project_that_was_made_anew_is_a_new_plane_under_an_old_name() {
        let new = Some("k2/new");
        for (what, remembered, seen, project, expected, written) in [
            ("first of its name", &[][..], sees("k2", ""), "new", IdentityVerdict::Accept, new),
            ("the same, as ever", &[("a", "k1/old")], sees("k1", ""), "old", IdentityVerdict::Accept, None),
            ("made anew", &[("a", "k1/old")], sees("k2", ""), "new", IdentityVerdict::Accept, new),
            (
                "made anew over what the old one left",
                &[("a", "k2/old")],
                sees("k2", ""),
                "new",
                IdentityVerdict::Accept,
                new,
            ),
            (
                "another cluster, the same Project",
                &[("a", "k1/old")],
                sees("k2", ""),
                "old",
                another("k1", "k2"),
                None,
            ),
            (
                "nobody knows which Project it was",
                &[("a", "k1")],
                sees("k2", ""),
                "new",
                another("k1", "k2"),
                None,
            ),
            (
                "remembered before Projects were",
                &[("a", "k2")],
                sees("k2", ""),
                "new",
                IdentityVerdict::Accept,
                new,
            ),
            (
                "made anew as another's",
                &[("a", "k1/old"), ("b", "k2")],
                sees("k2", ""),
                "new",
                taken("b", "k2"),
                None,
            ),
        ] {
            let mut known = KnownIdentities::default();
            known.learn(stored(remembered));
            assert_eq!(known.judge(&plane("a"), &seen, Some(project)), expected, "{what}");
            let entries: Vec<_> = known.unwritten().iter().map(|(_, entry)| entry.written()).collect();
            assert_eq!(entries, written.into_iter().collect::<Vec<_>>(), "{what}");
            // What is not written yet is no reason to check it again, and no other cluster takes its place.
            assert!(known.learn(stored(remembered)).is_empty(), "{what}");
            if written.is_some() {
                assert_eq!(
                    known.judge(&plane("a"), &sees("x", ""), Some("new")),
                    another("k2", "x"),
                    "{what}"
                );
            }
        }
    }

    #[test]
    fn what_is_accepted_keeps_others_out_before_it_is_remembered_and_until_it_leaves() {
        let mut known = KnownIdentities::default();
        assert_eq!(known.judge(&plane("b"), &sees("k", "d"), None), IdentityVerdict::Accept);
        assert_eq!(known.unwritten(), stored(&[("b", "k")]).into_iter().collect::<Vec<_>>());
        assert_eq!(known.judge(&plane("a"), &sees("k", "d"), None), taken("b", "k"));
        assert_eq!(known.judge(&plane("b"), &sees("x", "y"), None), another("k", "x"), "in one process, too");
        known.release(&plane("b"));
        assert_eq!(known.judge(&plane("a"), &sees("k", "d"), None), IdentityVerdict::Accept);
        assert!(known.learn(stored(&[("a", "k")])).is_empty());
        assert!(known.unwritten().is_empty());
        known.release(&plane("a"));
        assert_eq!(
            known.judge(&plane("b"), &sees("k", "d"), None),
            taken("a", "k"),
            "remembered past its end"
        );
    }

    #[test]
    fn who_has_to_be_judged_anew() {
        for (what, before, after, expected) in [
            ("remembered as it is", &[][..], &[("a", "k"), ("z", "x")][..], &[][..]),
            ("an operator removed it", &[("a", "k")], &[], &["a"]),
            ("somebody changed it", &[("a", "k")], &[("a", "x")], &["a"]),
            ("another leader gave it to another name", &[], &[("z", "k")], &["a"]),
            ("two names, and it is the first", &[("a", "k")], &[("a", "k"), ("z", "k")], &[]),
            ("two names, and it is the second", &[], &[("0", "k"), ("a", "k")], &["a"]),
        ] {
            let mut known = KnownIdentities::default();
            known.learn(stored(before));
            assert_eq!(known.judge(&plane("a"), &sees("k", "d"), None), IdentityVerdict::Accept, "{what}");
            let expected: Vec<_> = expected.iter().map(|name| plane(name)).collect();
            assert_eq!(known.learn(stored(after)), expected, "{what}");
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// A plane of this name shows itself as this cluster, for this Project if any.
        Show(u8, u8, Option<u8>),
        Leave(u8),
        /// The leader writes what it accepted.
        Write,
        /// An entry is edited by hand: another identity, or none.
        Edit(u8, Option<u8>),
        /// From now on this cluster shows its kube-system.
        Reveal(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0..4u8, 0..4u8, prop::option::of(0..2u8)).prop_map(|(name, cluster, project)| Step::Show(name, cluster, project)),
            1 => (0..4u8).prop_map(Step::Leave),
            2 => Just(Step::Write),
            2 => (0..4u8, prop::option::of(0..4u8)).prop_map(|(name, cluster)| Step::Edit(name, cluster)),
            1 => (0..4u8).prop_map(Step::Reveal),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn i4_no_cluster_is_worked_on_under_two_names(steps in prop::collection::vec(step(), 1..60)) {
            let (mut known, mut remembered) = (KnownIdentities::default(), BTreeMap::new());
            let (mut worked_on, mut revealed) = (BTreeMap::new(), BTreeSet::new());
            let name = |n: u8| plane(&format!("p{n}"));
            for step in steps {
                match step {
                    Step::Show(n, cluster, project) => {
                        let kube_system = revealed.contains(&cluster).then(|| format!("k{cluster}"));
                        let seen = ObservedUids { kube_system, default: Some(format!("d{cluster}")) };
                        // As planes are asked: `default` only where `kube-system` does not settle it.
                        let settled = known.identity(&name(n)) == seen.kube_system.as_deref() && seen.kube_system.is_some();
                        let seen = ObservedUids { default: seen.default.filter(|_| !settled), ..seen };
                        let project = project.map(|project| format!("u{project}"));
                        match known.judge(&name(n), &seen, project.as_deref()) {
                            IdentityVerdict::Accept => worked_on.insert(name(n), cluster),
                            _ => worked_on.remove(&name(n)),
                        };
                    }
                    Step::Leave(n) => {
                        known.release(&name(n));
                        worked_on.remove(&name(n));
                    }
                    Step::Write => {
                        remembered.extend(known.unwritten());
                        prop_assert!(known.learn(remembered.clone()).is_empty(), "what is written changes nothing");
                        prop_assert!(known.unwritten().is_empty());
                    }
                    Step::Edit(n, cluster) => {
                        match cluster {
                            Some(cluster) => remembered.insert(name(n), IdentityEntry::read(&format!("d{cluster}")).unwrap()),
                            None => remembered.remove(&name(n)),
                        };
                        for moot in known.learn(remembered.clone()) {
                            worked_on.remove(&moot);
                        }
                    }
                    Step::Reveal(cluster) => {
                        revealed.insert(cluster);
                    }
                }
                let clusters: BTreeSet<_> = worked_on.values().collect();
                prop_assert_eq!(clusters.len(), worked_on.len(), "{:?}", worked_on);
            }
        }
    }
}
