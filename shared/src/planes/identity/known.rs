//! Which plane is known by which identity, and what follows from what is seen: pure functions.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::PlaneName;

/// The UIDs that tell one cluster from another, as a plane showed them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Of its namespace `kube-system`.
    pub kube_system: Option<String>,
    /// Of its namespace `default`.
    pub default: Option<String>,
}

impl Seen {
    fn uids(&self) -> impl Iterator<Item = &String> {
        self.kube_system.iter().chain(&self.default)
    }

    fn shows(&self, uid: &str) -> bool {
        self.uids().any(|seen| seen == uid)
    }
}

/// What becomes of a plane that showed itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the one that the name stands for, from now on if not before.
    Accept,
    /// It showed nothing to know it by.
    Nameless,
    /// It is not worked on.
    Refuse(Refusal),
}

/// Why a plane is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The name stands for another cluster.
    AnotherIdentity {
        /// What is remembered.
        known: String,
        /// What was seen.
        seen: String,
    },
    /// The cluster has another name already.
    IdentityTaken {
        /// Which.
        by: PlaneName,
        /// The identity of both.
        identity: String,
    },
}

impl Refusal {
    /// The metric label.
    pub fn label(&self) -> &'static str {
        match self {
            Self::AnotherIdentity { .. } => "another_identity",
            Self::IdentityTaken { .. } => "identity_taken",
        }
    }
}

/// All identities that are known. No two names that are accepted at the same time have one identity.
#[derive(Debug, Default)]
pub struct Known {
    /// Stored on the management plane.
    remembered: BTreeMap<PlaneName, String>,
    /// Accepted by this process, and by it alone as long as it is not remembered.
    claims: BTreeMap<PlaneName, String>,
    /// `remembered` by identity. It should hold one name for each; people can write what they like.
    stored: BTreeMap<String, BTreeSet<PlaneName>>,
    /// `claims` by all that their planes showed.
    claimed: BTreeMap<String, PlaneName>,
}

impl Known {
    /// The identity that a name stands for.
    pub fn identity(&self, name: &PlaneName) -> Option<&str> {
        self.remembered.get(name).or_else(|| self.claims.get(name)).map(String::as_str)
    }

    /// What becomes of a plane that shows itself under `name`. Who is accepted keeps others out from then on.
    pub fn judge(&mut self, name: &PlaneName, seen: &Seen) -> Verdict {
        let Some(first) = seen.uids().next() else { return Verdict::Nameless };
        let identity = match self.identity(name) {
            Some(known) if !seen.shows(known) => {
                let (known, seen) = (known.to_owned(), first.clone());
                return Verdict::Refuse(Refusal::AnotherIdentity { known, seen });
            }
            Some(known) => known.to_owned(),
            None => first.clone(),
        };
        if let Some(by) = seen.uids().find_map(|uid| self.rival(name, uid)).cloned() {
            return Verdict::Refuse(Refusal::IdentityTaken { by, identity });
        }
        self.release(name);
        // By all that it shows: another name of this cluster may be known by the other of the two.
        self.claimed.extend(seen.uids().map(|uid| (uid.clone(), name.clone())));
        self.claimed.insert(identity.clone(), name.clone());
        self.claims.insert(name.clone(), identity);
        Verdict::Accept
    }

    /// Who has this identity and comes before `name`: what is remembered comes before what is not, then the lesser
    /// name does; and whoever is accepted stays so.
    fn rival(&self, name: &PlaneName, uid: &str) -> Option<&PlaneName> {
        let stored = self.stored.get(uid).and_then(|names| names.iter().find(|other| *other != name));
        let stored = stored.filter(|other| !self.remembered.contains_key(name) || *other < name);
        stored.or_else(|| self.claimed.get(uid).filter(|other| *other != name))
    }

    /// What is remembered now, in place of what was. Says who has to be judged anew: whose entry somebody changed or
    /// removed, and who has an identity that another was remembered with.
    pub fn learn(&mut self, remembered: BTreeMap<PlaneName, String>) -> Vec<PlaneName> {
        let before = std::mem::replace(&mut self.remembered, remembered);
        self.stored.clear();
        for (name, uid) in &self.remembered {
            self.stored.entry(uid.clone()).or_default().insert(name.clone());
        }
        let moot = |(name, uid): &(&PlaneName, &String)| {
            let entry = self.remembered.get(*name);
            let removed = before.contains_key(*name) && entry.is_none();
            let changed = entry.is_some_and(|stored| stored != *uid);
            let first = self.stored.get(*uid).and_then(BTreeSet::first);
            let taken = first.is_some_and(|first| first != *name && (entry.is_none() || first < *name));
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
    pub fn unwritten(&self) -> Vec<(PlaneName, String)> {
        let new = self.claims.iter().filter(|(name, _)| !self.remembered.contains_key(*name));
        new.map(|(name, uid)| (name.clone(), uid.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plane(name: &str) -> PlaneName {
        PlaneName::new(name).unwrap()
    }

    fn stored(entries: &[(&str, &str)]) -> BTreeMap<PlaneName, String> {
        entries.iter().map(|(name, uid)| (plane(name), (*uid).to_owned())).collect()
    }

    fn sees(kube_system: &str, default: &str) -> Seen {
        let uid = |uid: &str| Some(uid.to_owned()).filter(|uid| !uid.is_empty());
        Seen { kube_system: uid(kube_system), default: uid(default) }
    }

    fn another(known: &str, seen: &str) -> Verdict {
        Verdict::Refuse(Refusal::AnotherIdentity { known: known.to_owned(), seen: seen.to_owned() })
    }

    fn taken(by: &str, identity: &str) -> Verdict {
        Verdict::Refuse(Refusal::IdentityTaken { by: plane(by), identity: identity.to_owned() })
    }

    #[test]
    fn i4_a_name_stands_for_one_cluster_and_a_cluster_has_one_name() {
        for (what, remembered, name, seen, expected) in [
            ("the first time", &[][..], "a", sees("k", "d"), Verdict::Accept),
            ("as remembered", &[("a", "k")], "a", sees("k", "d"), Verdict::Accept),
            ("a twin", &[("a", "k")], "a", sees("x", "y"), another("k", "x")),
            ("a twin without kube-system", &[("a", "k")], "a", sees("", "y"), another("k", "y")),
            ("no kube-system", &[], "a", sees("", "d"), Verdict::Accept),
            ("kube-system came later", &[("a", "d")], "a", sees("k", "d"), Verdict::Accept),
            ("nothing to go by", &[], "a", sees("", ""), Verdict::Nameless),
            ("nothing to go by any more", &[("a", "k")], "a", sees("", ""), Verdict::Nameless),
            ("a second name", &[("a", "k")], "b", sees("k", "d"), taken("a", "k")),
            ("a second name that is less", &[("b", "k")], "a", sees("k", "d"), taken("b", "k")),
            ("a second name, known by default", &[("a", "d")], "b", sees("k", "d"), taken("a", "k")),
            ("two remembered: the first", &[("a", "k"), ("b", "k")], "a", sees("k", "d"), Verdict::Accept),
            ("two remembered: the second", &[("a", "k"), ("b", "k")], "b", sees("k", "d"), taken("a", "k")),
            ("a neighbour", &[("b", "l")], "a", sees("k", "d"), Verdict::Accept),
        ] {
            let mut known = Known::default();
            known.learn(stored(remembered));
            assert_eq!(known.judge(&plane(name), &seen), expected, "{what}");
        }
    }

    #[test]
    fn what_is_accepted_keeps_others_out_before_it_is_remembered_and_until_it_leaves() {
        let mut known = Known::default();
        assert_eq!(known.judge(&plane("b"), &sees("k", "d")), Verdict::Accept);
        assert_eq!(known.unwritten(), [(plane("b"), "k".to_owned())]);
        assert_eq!(known.judge(&plane("a"), &sees("k", "d")), taken("b", "k"));
        assert_eq!(known.judge(&plane("b"), &sees("x", "y")), another("k", "x"), "in one process, too");
        known.release(&plane("b"));
        assert_eq!(known.judge(&plane("a"), &sees("k", "d")), Verdict::Accept);
        assert!(known.learn(stored(&[("a", "k")])).is_empty());
        assert!(known.unwritten().is_empty());
        known.release(&plane("a"));
        assert_eq!(known.judge(&plane("b"), &sees("k", "d")), taken("a", "k"), "remembered past its end");
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
            let mut known = Known::default();
            known.learn(stored(before));
            assert_eq!(known.judge(&plane("a"), &sees("k", "d")), Verdict::Accept, "{what}");
            let expected: Vec<_> = expected.iter().map(|name| plane(name)).collect();
            assert_eq!(known.learn(stored(after)), expected, "{what}");
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// A plane of this name shows itself as this cluster.
        Show(u8, u8),
        Leave(u8),
        /// The leader writes what it accepted.
        Write,
        /// Somebody edits an entry: another identity, or none.
        Edit(u8, Option<u8>),
        /// From now on this cluster shows its kube-system.
        Reveal(u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (0..4u8, 0..4u8).prop_map(|(name, cluster)| Step::Show(name, cluster)),
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
            let (mut known, mut remembered) = (Known::default(), BTreeMap::new());
            let (mut worked_on, mut revealed) = (BTreeMap::new(), BTreeSet::new());
            let name = |n: u8| plane(&format!("p{n}"));
            for step in steps {
                match step {
                    Step::Show(n, cluster) => {
                        let kube_system = revealed.contains(&cluster).then(|| format!("k{cluster}"));
                        let seen = Seen { kube_system, default: Some(format!("d{cluster}")) };
                        // As planes are asked: `default` only where `kube-system` does not settle it.
                        let settled = known.identity(&name(n)) == seen.kube_system.as_deref() && seen.kube_system.is_some();
                        let seen = Seen { default: seen.default.filter(|_| !settled), ..seen };
                        match known.judge(&name(n), &seen) {
                            Verdict::Accept => worked_on.insert(name(n), cluster),
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
                            Some(cluster) => remembered.insert(name(n), format!("d{cluster}")),
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
