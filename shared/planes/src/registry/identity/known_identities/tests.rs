//! Identities of planes, and what is remembered with them.

use proptest::prelude::*;

use super::*;

fn plane(name: &str) -> PlaneName {
    PlaneName::new(name).unwrap()
}

fn stored(entries: &[(&str, &str)]) -> BTreeMap<PlaneName, IdentityEntry> {
    entries.iter().map(|(name, entry)| (plane(name), IdentityEntry::read(entry).unwrap())).collect()
}

fn unwritten(known: &KnownIdentities) -> BTreeMap<PlaneName, IdentityEntry> {
    known.unwritten().map(|(name, entry)| (name.clone(), entry.clone())).collect()
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
    IdentityVerdict::Refuse(IdentityRefusal::IdentityTaken { by: plane(by), identity: identity.to_owned() })
}

#[test]
fn i14_a_plane_that_shows_no_uid_is_refused_and_nothing_is_remembered() {
    let long = "k".repeat(2 << 20);
    for hostile in ["k//granted", "k/p/granted", "k\n", "\u{1b}]0;owned\u{7}", "k ", "k\"", &long] {
        for seen in [sees(hostile, "d"), sees("k", hostile), sees("", hostile)] {
            let mut known = KnownIdentities::default();
            known.learn(stored(&[("b", "l")]));
            let verdict = known.judge(&plane("a"), &seen, None);
            let IdentityVerdict::Refuse(refusal @ IdentityRefusal::InvalidUid { .. }) = verdict else {
                panic!("{hostile:.20}: {verdict:?}")
            };
            let message = refusal.message(&plane("a"), "fedhub-system");
            assert!(message.len() < 1000 && !message.contains(char::is_control), "{message:.200}");
            assert!(unwritten(&known).is_empty());
            assert_eq!(known.judge(&plane("c"), &sees("k", "d"), None), IdentityVerdict::Accept);
        }
    }
    let verdict = KnownIdentities::default().judge(&plane("a"), &sees("k", "d"), Some("p/granted"));
    assert!(matches!(verdict, IdentityVerdict::Refuse(IdentityRefusal::InvalidUid { .. })), "{verdict:?}");
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
        let entries: Vec<_> = known.unwritten().map(|(_, entry)| entry.written()).collect();
        assert_eq!(entries, written.into_iter().collect::<Vec<_>>(), "{what}");
        // What is not written yet is no reason to check it again, and no other cluster takes its place.
        assert!(known.learn(stored(remembered)).is_empty(), "{what}");
        if written.is_some() {
            assert_eq!(known.judge(&plane("a"), &sees("x", ""), Some("new")), another("k2", "x"), "{what}");
        }
    }
}

#[test]
fn what_is_accepted_keeps_others_out_before_it_is_remembered_and_until_it_leaves() {
    let mut known = KnownIdentities::default();
    assert_eq!(known.judge(&plane("b"), &sees("k", "d"), None), IdentityVerdict::Accept);
    assert_eq!(unwritten(&known), stored(&[("b", "k")]));
    assert_eq!(known.judge(&plane("a"), &sees("k", "d"), None), taken("b", "k"));
    assert_eq!(known.judge(&plane("b"), &sees("x", "y"), None), another("k", "x"), "in one process, too");
    known.release(&plane("b"));
    assert_eq!(known.judge(&plane("a"), &sees("k", "d"), None), IdentityVerdict::Accept);
    assert!(known.learn(stored(&[("a", "k")])).is_empty());
    assert!(unwritten(&known).is_empty());
    known.release(&plane("a"));
    assert_eq!(known.judge(&plane("b"), &sees("k", "d"), None), taken("a", "k"), "remembered past its end");
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

#[test]
fn w9_what_is_remembered_of_the_service_is_that_of_the_project_which_has_the_name_now() {
    let mut known = KnownIdentities::default();
    assert!(!known.note_grant(&plane("a"), Some(Grant::Granted)), "not accepted");
    assert_eq!(known.judge(&plane("a"), &sees("k", "d"), Some("p")), IdentityVerdict::Accept);
    let written =
        |known: &KnownIdentities| -> Vec<_> { known.unwritten().map(|(_, entry)| entry.written()).collect() };
    assert!(known.note_grant(&plane("a"), Some(Grant::Granted)));
    assert!(!known.note_grant(&plane("a"), Some(Grant::Granted)), "no news");
    assert_eq!(written(&known), ["k/p/granted"]);
    assert!(known.learn(stored(&[("a", "k/p/granted")])).is_empty());
    assert!(unwritten(&known).is_empty());
    assert!(known.note_grant(&plane("a"), Some(Grant::Withdrawn)));
    assert_eq!(written(&known), ["k/p/withdrawn"]);
    assert_eq!(known.withdraws(&stored(&[("a", "k/p/withdrawn"), ("b", "l")])), [plane("a")]);
    assert!(known.withdraws(&stored(&[("a", "k/p/granted")])).is_empty());
    assert!(known.learn(stored(&[("a", "k/p/withdrawn")])).is_empty(), "no reason to check it again");
    assert!(known.withdraws(&stored(&[("a", "k/p/withdrawn")])).is_empty(), "no news");
    // The next process.
    let mut known = KnownIdentities::default();
    known.learn(stored(&[("a", "k/p/withdrawn")]));
    assert_eq!(known.judge(&plane("a"), &sees("k", "d"), Some("p")), IdentityVerdict::Accept);
    assert_eq!(known.grant(&plane("a")), Some(Grant::Withdrawn));
    assert!(unwritten(&known).is_empty());
    // A Project that was made anew under the name.
    assert_eq!(known.judge(&plane("a"), &sees("k2", "d2"), Some("q")), IdentityVerdict::Accept);
    assert_eq!(known.grant(&plane("a")), None);
    assert_eq!(written(&known), ["k2/q"]);
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
        let mut known = KnownIdentities::default();
        let mut remembered = BTreeMap::new();
        let mut worked_on = BTreeMap::new();
        let mut revealed = BTreeSet::new();
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
                    remembered.extend(unwritten(&known));
                    prop_assert!(known.learn(remembered.clone()).is_empty(), "what is written changes nothing");
                    prop_assert!(unwritten(&known).is_empty());
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
            let to_write: BTreeSet<_> =
                known.claims.keys().filter(|name| known.is_unwritten(name)).cloned().collect();
            prop_assert_eq!(&known.unwritten, &to_write);
            let clusters: BTreeSet<_> = worked_on.values().collect();
            prop_assert_eq!(clusters.len(), worked_on.len(), "{:?}", worked_on);
        }
    }
}
