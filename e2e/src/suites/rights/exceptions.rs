//! Rights that a whole run does not account for, each with the reason why it is granted all the same.

/// A right of a role that a whole run does not account for, and why it is granted all the same.
pub struct Exception {
    pub role: &'static str,
    pub verb: &'static str,
    pub resource: &'static str,
    pub why: &'static str,
}

/// The rights that a whole run does not use.
pub const UNSEEN: &[Exception] = &[
    Exception {
        role: "ClusterRole fedhub-cell",
        verb: "update",
        resource: "workloaddeployments/finalizers",
        why: "admission asks for it where owner references block a deletion",
    },
    Exception {
        role: "ClusterRole fedhub-cell",
        verb: "get",
        resource: "horizontalpodautoscalers",
        why: "a creation that finds one there reads it",
    },
    Exception {
        role: "ClusterRole fedhub-cell",
        verb: "get",
        resource: "networkbindings",
        why: "a creation that finds one there reads it",
    },
    Exception {
        role: "ClusterRole fedhub-cell-claims",
        verb: "get",
        resource: "resourceclaims",
        why: "a creation that finds one there reads it",
    },
    Exception {
        role: "ClusterRole fedhub-cell-claims",
        verb: "patch",
        resource: "resourceclaims",
        why: "the claims of a cell that was called otherwise get its name",
    },
    Exception {
        role: "Role fedhub-cell",
        verb: "create",
        resource: "events",
        why: "an invalid Secret of a project plane gets an Event",
    },
    Exception {
        role: "Role fedhub-cell",
        verb: "patch",
        resource: "events",
        why: "an Event that is repeated is counted",
    },
    Exception {
        role: "ClusterRole fedhub-discovery",
        verb: "get",
        resource: "/apis",
        why: "a Milo has no role system:discovery; asked where a kind is not served",
    },
    Exception {
        role: "ClusterRole fedhub-discovery",
        verb: "get",
        resource: "/apis/*",
        why: "a Milo has no role system:discovery; asked where a kind is not served",
    },
    Exception {
        role: "ClusterRole fedhub-project",
        verb: "watch",
        resource: "locationbindings",
        why: "the project planes of the suites serve none",
    },
    Exception {
        role: "ClusterRole fedhub-hub",
        verb: "get",
        resource: "propagationpolicies",
        why: "a creation that finds one there reads it",
    },
    Exception {
        role: "ClusterRole fedhub-hub",
        verb: "get",
        resource: "clusterpropagationpolicies",
        why: "a creation that finds one there reads it",
    },
    Exception {
        role: "ClusterRole fedhub-hub",
        verb: "get",
        resource: "instancetypes",
        why: "a creation that finds one there reads it",
    },
];

/// The rights that are granted in all namespaces, and that a whole run uses in few.
pub const NARROW: &[Exception] = &[
    Exception {
        role: "ClusterRole fedhub-discovery",
        verb: "patch",
        resource: "events",
        why: "an Event that is repeated is counted, in whichever namespace its object is",
    },
    Exception {
        role: "ClusterRole fedhub-cell",
        verb: "create",
        resource: "horizontalpodautoscalers",
        why: "one suite scales, and any tenant may",
    },
    Exception {
        role: "ClusterRole fedhub-cell",
        verb: "patch",
        resource: "horizontalpodautoscalers",
        why: "one suite scales, and any tenant may",
    },
    Exception {
        role: "ClusterRole fedhub-cell",
        verb: "delete",
        resource: "horizontalpodautoscalers",
        why: "one suite scales, and any tenant may",
    },
    Exception {
        role: "ClusterRole fedhub-cell",
        verb: "patch",
        resource: "events",
        why: "an Event that is repeated is counted, wherever it is",
    },
    Exception {
        role: "ClusterRole fedhub-cell",
        verb: "patch",
        resource: "instances",
        why: "of the copies on the hub, only the suite `cell-fenced` patches any: no cell does",
    },
    Exception {
        role: "ClusterRole fedhub-cell",
        verb: "get",
        resource: "instances/status",
        why: "only the suite `cell-fenced` asks for it, by kubectl: no cell does",
    },
    Exception {
        role: "ClusterRole fedhub-cell",
        verb: "patch",
        resource: "instances/status",
        why: "only the suite `cell-fenced` patches it: no cell does",
    },
    Exception {
        role: "ClusterRole fedhub-cell-claims",
        verb: "get",
        resource: "resourceclaims",
        why: "a creation that finds one there reads it, in any project namespace",
    },
    Exception {
        role: "ClusterRole fedhub-hub",
        verb: "get",
        resource: "propagationpolicies",
        why: "a creation that finds one there reads it, in any hub namespace",
    },
    Exception {
        role: "ClusterRole fedhub-hub",
        verb: "update",
        resource: "propagationpolicies",
        why: "one that is edited by hand is restored, in any hub namespace",
    },
    Exception {
        role: "ClusterRole fedhub-hub",
        verb: "get",
        resource: "configmaps",
        why: "a copy that is found or changed is read, in any hub namespace",
    },
    Exception {
        role: "ClusterRole fedhub-hub",
        verb: "get",
        resource: "secrets",
        why: "a copy that is found or changed is read, in any hub namespace",
    },
    Exception {
        role: "ClusterRole fedhub-hub",
        verb: "update",
        resource: "configmaps",
        why: "a copy is updated when its original changes, in any hub namespace",
    },
    Exception {
        role: "ClusterRole fedhub-hub",
        verb: "update",
        resource: "secrets",
        why: "a copy is updated when its original changes, in any hub namespace",
    },
    Exception {
        role: "ClusterRole fedhub-hub",
        verb: "patch",
        resource: "configmaps",
        why: "who refers to a copy is noted on it, in any hub namespace",
    },
    Exception {
        role: "ClusterRole fedhub-hub",
        verb: "patch",
        resource: "secrets",
        why: "who refers to a copy is noted on it, in any hub namespace",
    },
];
