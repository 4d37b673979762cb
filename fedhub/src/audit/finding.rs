//! What the audit may find: the closed list of discrepancies, with who has to act and what to do.

use std::time::Duration;

use fedhub_api::reason::Responsible;
use fedhub_core::object::Key;
use jiff::Timestamp;

/// How much a discrepancy matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Planes and hub differ: the exit code says so.
    Problem,
    /// A remainder that harms nothing.
    Notice,
}
use Severity::{Notice, Problem};

/// What is known of a discrepancy before anything is read.
#[derive(Clone, Copy, Debug)]
struct About {
    severity: Severity,
    meaning: &'static str,
    responsible: Responsible,
    remedy: &'static str,
}

/// Makes [`Discrepancy`] and all that follows from one alone.
macro_rules! discrepancies {
    ($($name:ident: $severity:ident, $meaning:literal, $responsible:ident, $remedy:literal;)+) => {
        /// How planes and hub differ. The name in kebab-case is stable: programs compare it.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr, strum::VariantArray,
        )]
        #[strum(serialize_all = "kebab-case")]
        #[allow(clippy::doc_markdown, reason = "the meanings are printed as they are")]
        pub enum Discrepancy {
            $(#[doc = $meaning] $name,)+
        }

        impl Discrepancy {
            fn about(self) -> About {
                match self {
                    $(Self::$name => About {
                        severity: $severity,
                        meaning: $meaning,
                        responsible: Responsible::$responsible,
                        remedy: $remedy,
                    },)+
                }
            }
        }
    };
}

discrepancies! {
    WdMarkDiffers: Problem, "a project WD lacks the federator's finalizer, or its annotations name another hub namespace",
        Operator, "see that fedhub runs: it puts them right";
    NamespaceGone: Problem, "the namespace of a project WD was removed by force, and nothing of the WD is on the hub",
        User, "create the namespace again";
    HubNamespaceMissing: Problem, "the hub namespace of a project WD is missing",
        Operator, "see that fedhub runs: it fills the hub again; where it does not, run fedhub explain for the WD";
    HubNamespaceDiffers: Problem, "a hub namespace lacks the labels that name its project namespace",
        Operator, "see that fedhub runs: it puts them right";
    HubConflict: Problem, "the hub holds an object of another origin in the place of a project WD's",
        Operator, "look at the origin marks of both, and remove what does not belong there";
    PolicyMissing: Problem, "the PropagationPolicy of a project WD's city is missing",
        Operator, "see that fedhub runs: it creates the policy";
    PolicyDiffers: Problem, "a PropagationPolicy is not as fedhub writes it",
        Operator, "see that fedhub runs, and what else edits policies on the hub";
    PolicyUnused: Problem, "a PropagationPolicy is left over: no WD of its hub namespace has its city",
        Operator, "see that fedhub runs: it deletes the policy";
    HubWdMissing: Problem, "a project WD is not on the hub",
        Operator, "see that fedhub runs; where it does, run fedhub explain for the WD";
    HubWdDiffers: Problem, "a hub WD is not what the federator writes for its project WD",
        Operator, "see that fedhub runs, and what else edits WDs on the hub";
    WrongCity: Problem, "an object on the hub is of another city than its WD, or a move between cities is not finished",
        Operator, "see that both cities' cells are ready, and Karmada's controller manager";
    SchemaDiffers: Problem, "an object lacks or adds fields that its counterpart on another plane does not: their CRDs differ, or fields were removed by hand",
        Operator, "apply the output of fedhub crds on both planes";
    StatusNotMirrored: Problem, "the status of a project WD is not what the hub reports",
        Operator, "see that fedhub runs and may write the status of WDs in the project plane";
    CleanupPending: Problem, "a project WD is being deleted, and its hub WD is still there",
        Operator, "see that fedhub runs, and the finalizers of the hub WD";
    CleanupBlocked: Problem, "a project WD is being deleted, and its cleanup is not proven done",
        Operator, "see A blocked cleanup in docs/operations.md";
    FinalizerLeft: Problem, "a project WD is being deleted and clean on the hub, and keeps fedhub's finalizer",
        Operator, "see that fedhub runs: it removes the finalizer";
    Orphan: Problem, "a hub WD whose project WD is gone although its finalizer never ran",
        Operator, "once sure, run fedhub audit --reclaim";
    Duplicate: Problem, "a second hub WD of one project WD, in another hub namespace than the WD's own",
        Operator, "once sure which one runs, remove the deletion protection of the other and delete it";
    ForeignHubWd: Problem, "a hub WD whose origin mark names another WD than its hub namespace does",
        Operator, "find out who wrote it; fedhub neither follows nor deletes it";
    CompanionLeft: Problem, "a copy of a ConfigMap or Secret on the hub that no WD of its project namespace refers to",
        Operator, "once sure, delete it on the hub: Karmada deletes it in the cells";
    EmptyHubNamespace: Notice, "a hub namespace without WDs and Instances, of a project namespace without WDs",
        Nobody, "";
    InstanceQuarantined: Problem, "a hub Instance cannot be shown in the project, and no retry changes that",
        Operator, "see Quarantined Instances in docs/operations.md";
    InstanceParked: Problem, "a hub Instance waits for its WD in the project or on the hub",
        Operator, "run fedhub explain for its WD";
    ProjectionMissing: Problem, "a hub Instance is not shown in the project",
        Operator, "see that fedhub runs and may write Instances in the project plane";
    ProjectionDiffers: Problem, "an Instance in the project is not what the projector writes for its hub Instance",
        Operator, "see that fedhub runs, and what else edits Instances in the project";
    ProjectionStatusDiffers: Problem, "the status of an Instance in the project is not that of its hub Instance",
        Operator, "see that fedhub runs and may write the status of Instances in the project plane";
    ProjectionOwnerless: Problem, "an Instance in the project has no owner: deleting its WD would leave it",
        Operator, "see that fedhub runs: it puts the owner reference right";
    ProjectionLeft: Problem, "an Instance in the project whose hub Instance is gone",
        Operator, "see that fedhub runs; the detail says why it keeps the Instance";
    ProjectionWdGone: Problem, "an Instance in the project whose WD is gone from it",
        Operator, "see that the garbage collection of the project plane runs; once sure, delete the Instance";
    DanglingOwner: Problem, "an Instance is owned by a WD of another UID than the WD of that name has on its plane",
        Operator, "see that fedhub runs; on the hub, that its garbage collector runs";
    CellWdLeft: Problem, "a cell runs a WD that the hub does not have",
        Operator, "see Karmada's controller manager and the agent of this cell";
    CopyMissing: Problem, "an Instance of a cell has no copy on the hub",
        Operator, "see the log of fedhub in the cell, and its credentials for the hub";
    CopyLeft: Problem, "a hub Instance whose cell does not have its Instance any more",
        Operator, "see the log of fedhub in the cell; where the cell is gone for good, declare it lost";
}

impl Discrepancy {
    /// The stable name.
    pub fn id(self) -> &'static str {
        self.into()
    }

    /// What it means, in one line.
    pub fn meaning(self) -> &'static str {
        self.about().meaning
    }

    /// Who has to act.
    pub fn responsible(self) -> Responsible {
        self.about().responsible
    }

    /// What to do; empty where nobody has to act.
    pub fn remedy(self) -> &'static str {
        self.about().remedy
    }

    /// Whether the exit code says so.
    pub fn is_problem(self) -> bool {
        self.about().severity == Problem
    }
}

/// One discrepancy of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub discrepancy: Discrepancy,
    /// The object that is not as it should be, or is not there.
    pub subject: Key,
    /// The project plane whose objects are concerned; empty where none is known.
    pub plane: String,
    /// How it differs.
    pub detail: String,
    /// When one of the objects that were compared last changed; `None` where none of them tells.
    pub since: Option<Timestamp>,
    /// Whether that is so recent that it may be under way.
    pub settling: bool,
    /// Whether an operator paused the plane, so that it differs on purpose.
    pub paused: bool,
    /// The objects that it rests on.
    pub rests_on: Vec<Key>,
}

impl Finding {
    /// What makes two findings the same.
    pub fn identity(&self) -> (Discrepancy, &Key) {
        (self.discrepancy, &self.subject)
    }

    /// Whether it stands and matters.
    pub fn is_problem(&self) -> bool {
        !self.settling && !self.paused && self.discrepancy.is_problem()
    }
}

/// Whether what changed at `since` may still be under way.
pub fn settles(since: Option<Timestamp>, now: Timestamp, grace: Duration) -> bool {
    since.is_some_and(|since| Duration::try_from(now.duration_since(since)).map_or(true, |age| age < grace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u4_what_changed_within_the_grace_settles() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let grace = Duration::from_mins(1);
        let ago = |seconds| Some(now - jiff::SignedDuration::from_secs(seconds));
        for (since, expected) in
            [(ago(59), true), (ago(60), false), (ago(0), true), (ago(-5), true), (None, false)]
        {
            assert_eq!(settles(since, now, grace), expected, "{since:?}");
        }
        assert!(!settles(ago(0), now, Duration::ZERO));
    }
}
