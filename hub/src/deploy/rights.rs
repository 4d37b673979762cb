//! `deploy/` grants what the code asks for, and what it must not have is not granted.

use std::collections::BTreeSet;

use clap::Parser;
use fedhub_planes::watched::Watched;
use fedhub_workload::instance_types::watched_at_source;
use serde_json::Value;

use super::{FEATURES, kustomize::overlay, strings};
use crate::args::{Args, Command, RunArgs};
use crate::run::cell::{in_cell, on_hub};
use crate::run::management::on_hub as management_on_hub;

const COMPUTE: &str = "compute.datumapis.com";
const NETWORKING: &str = "networking.datumapis.com";
const QUOTA: &str = "quota.miloapis.com";
/// The service accounts of the cells on the hub.
const CELLS: &str = "system:serviceaccounts:fedhub-cells";

/// Who asks.
#[derive(Clone, Copy, Debug)]
enum Who {
    /// The management role's service account.
    Management,
    /// The cell role's.
    Cell,
    /// On a Milo.
    User(&'static str),
}

impl Who {
    fn is(self, subject: &Value) -> bool {
        match self {
            Self::Management => account(subject, "fedhub-system", "fedhub"),
            // On the hub every cell has an account of its own in that namespace.
            Self::Cell => account(subject, "fedhub-cells", "fedhub-cell") || is_cells_on_hub(subject),
            Self::User(name) => subject["kind"] == "User" && subject["name"] == name,
        }
    }

    /// Its own namespace.
    fn namespace(self) -> &'static str {
        match self {
            Self::Management | Self::User(_) => "fedhub-system",
            Self::Cell => "fedhub-cells",
        }
    }
}

fn is_cells_on_hub(subject: &Value) -> bool {
    subject["kind"] == "Group" && subject["name"] == CELLS
}

fn account(subject: &Value, namespace: &str, name: &str) -> bool {
    subject["kind"] == "ServiceAccount" && subject["namespace"] == namespace && subject["name"] == name
}

/// What is applied to one plane.
struct Plane {
    name: &'static str,
    objects: Vec<Value>,
}

impl Plane {
    fn of(name: &'static str, applied: &[&str]) -> Self {
        Self { name, objects: applied.iter().flat_map(|directory| overlay(directory, &[])).collect() }
    }

    /// The rules that bind to `who`, those of a Role only in its namespace.
    fn rules(&self, who: Who, namespace: Option<&str>) -> Vec<&Value> {
        let named = |kind: &Value, namespace: &Value, name: &Value| {
            let is = |object: &&Value| {
                let metadata = &object["metadata"];
                object["kind"] == *kind && metadata["name"] == *name && metadata["namespace"] == *namespace
            };
            let found = self.objects.iter().find(is);
            found.unwrap_or_else(|| panic!("{}: a binding to {kind} {name}, which is not there", self.name))
        };
        let mut rules = Vec::new();
        for binding in &self.objects {
            let within = &binding["metadata"]["namespace"];
            let counts = match binding["kind"].as_str() {
                Some("ClusterRoleBinding") => true,
                Some("RoleBinding") => within.as_str() == namespace,
                _ => false,
            };
            let subjects = binding["subjects"].as_array().into_iter().flatten();
            if counts && subjects.into_iter().any(|subject| who.is(subject)) {
                let of = &binding["roleRef"];
                let nowhere = Value::Null;
                let space = if of["kind"] == "Role" { within } else { &nowhere };
                let role = named(&of["kind"], space, &of["name"]);
                rules.extend(role["rules"].as_array().unwrap());
            }
        }
        rules
    }

    fn allows(&self, who: Who, namespace: Option<&str>, group: &str, resource: &str, verb: &str) -> bool {
        self.rules(who, namespace).iter().any(|rule| {
            strings(&rule["apiGroups"]).contains(&group)
                && strings(&rule["resources"]).contains(&resource)
                && strings(&rule["verbs"]).contains(&verb)
        })
    }

    fn needs(&self, who: Who, namespace: Option<&str>, group: &str, resources: &str, verbs: &str) {
        for resource in resources.split(' ') {
            for verb in verbs.split(' ') {
                let allowed = self.allows(who, namespace, group, resource, verb);
                assert!(allowed, "{who:?} may not {verb} {resource} {group:?} on {}", self.name);
            }
        }
    }

    fn watches(&self, who: Who, kinds: &[Watched]) {
        for watched in kinds {
            let of = watched.kind.resource();
            self.needs(who, None, &of.group, &of.plural, "list watch");
        }
    }
}

fn management() -> Plane {
    Plane::of("the management plane", &["base", "components/management-for-cells"])
}

fn hub() -> Plane {
    Plane::of("the hub", &["components/hub", "components/hub-for-cells"])
}

fn project() -> Plane {
    Plane::of("a project plane", &["components/project-plane", "components/project-plane-for-cells"])
}

fn cell() -> Plane {
    Plane { name: "the cell", objects: overlay("cell", &FEATURES) }
}

fn run(flags: &[&str]) -> RunArgs {
    let all = ["fedhub", "run"].iter().chain(flags).copied();
    match Args::try_parse_from(all).unwrap().command {
        Command::Run(args) => *args,
        _ => panic!("{flags:?}"),
    }
}

/// What each role does in its election.
fn elects(plane: &Plane, who: Who) {
    let own = Some(who.namespace());
    plane.needs(who, own, "coordination.k8s.io", "leases", "get list watch create patch");
}

fn on_project(plane: &Plane, who: Who, milo: bool) {
    plane.watches(who, &fedhub_workload::on_projects(false, milo));
    plane.needs(who, None, COMPUTE, "workloads", "get patch");
    plane.needs(who, None, COMPUTE, "workloaddeployments", "get create update patch delete");
    plane.needs(who, None, COMPUTE, "workloads/status workloaddeployments/status instances/status", "update");
    // W10: revisions.
    plane.needs(who, None, "", "configmaps", "create update");
    // W5, W6: what templates refer to.
    plane.needs(who, None, "", "configmaps secrets", "get");
    plane.needs(who, None, COMPUTE, "instances", "get create update delete");
    // The UID of kube-system, and of the WorkloadDeployment's own.
    plane.needs(who, None, "", "namespaces", "get");
    plane.needs(who, None, "events.k8s.io", "events", "create patch");
    // C11: the claims of a lost cell.
    plane.needs(who, None, QUOTA, "resourceclaims", "list delete");
    if milo {
        // W9: whether entitlements went with their kind.
        plane.needs(who, None, "apiextensions.k8s.io", "customresourcedefinitions", "get");
    }
}

fn on_hub_of_management(plane: &Plane, who: Who) {
    plane.watches(who, &management_on_hub(true));
    // W8: copies of the catalogue, and their policy.
    plane.needs(who, None, COMPUTE, "instancetypes", "get create update delete");
    plane.needs(who, None, "policy.karmada.io", "clusterpropagationpolicies", "get create update");
    // W5: companions.
    plane.needs(who, None, "", "configmaps secrets", "get create update patch delete");
    plane.needs(who, None, "", "namespaces", "get create update");
    plane.needs(who, None, COMPUTE, "workloaddeployments", "get create update delete");
    plane.needs(who, None, COMPUTE, "instances", "get delete");
    plane.needs(who, None, "policy.karmada.io", "propagationpolicies", "get create update patch delete");
    plane.needs(who, None, "work.karmada.io", "resourcebindings", "get");
    plane.needs(who, None, "config.karmada.io", "resourceinterpretercustomizations", "list");
}

#[test]
fn the_management_role_may_do_what_it_does() {
    let (who, own) = (Who::Management, Some("fedhub-system"));
    let management = management();
    elects(&management, who);
    management.needs(who, own, "", "secrets", "list watch");
    management.needs(who, own, "", "configmaps", "get list watch create update");
    management.needs(who, own, "events.k8s.io", "events", "create patch");
    on_hub_of_management(&hub(), who);
    on_project(&project(), who, false);
    let milo = Plane::of("a Milo", &["components/milo"]);
    on_project(&milo, Who::User("fedhub"), true);
    milo.needs(Who::User("fedhub"), None, "resourcemanager.miloapis.com", "projects", "list watch");
    // W9: who is entitled is for the Milo to say.
    for verb in ["create", "update", "patch", "delete"] {
        let (who, group) = (Who::User("fedhub"), "services.miloapis.com");
        assert!(!milo.allows(who, None, group, "serviceentitlements", verb), "{verb}");
    }
}

/// W8: the catalogue is read, by who asks for it, and by nobody else.
#[test]
fn the_management_role_reads_the_catalogue_where_it_is() {
    let with = Plane {
        name: "the management plane with the catalogue",
        objects: overlay("base", &["instance-types"]),
    };
    let milo = Plane::of("a Milo with the catalogue", &["components/milo", "components/milo-instance-types"]);
    for (plane, who) in [(with, Who::Management), (milo, Who::User("fedhub"))] {
        plane.watches(who, &watched_at_source());
        plane.needs(who, None, COMPUTE, "instancetypes", "get");
        plane.needs(who, None, "apiextensions.k8s.io", "customresourcedefinitions", "get");
        for verb in ["create", "update", "patch", "delete"] {
            assert!(!plane.allows(who, None, COMPUTE, "instancetypes", verb), "{verb} on {}", plane.name);
        }
    }
    assert!(!management().allows(Who::Management, None, COMPUTE, "instancetypes", "list"));
}

fn in_cell_of(plane: &Plane, who: Who, args: &RunArgs) {
    elects(plane, who);
    plane.watches(who, &in_cell(args));
    // C10: who the cell is, by the UID of kube-system.
    plane.needs(who, None, "", "namespaces", "list watch");
    plane.needs(who, None, COMPUTE, "workloaddeployments", "patch");
    plane.needs(who, None, COMPUTE, "workloaddeployments/status instances/status", "update");
    plane.needs(who, None, COMPUTE, "instances", "get create patch delete");
    // Owner references with blockOwnerDeletion, where OwnerReferencesPermissionEnforcement is on.
    plane.needs(who, None, COMPUTE, "workloaddeployments/finalizers", "update");
    plane.needs(who, None, "events.k8s.io", "events", "create patch");
    // C13
    plane.needs(who, None, "autoscaling", "horizontalpodautoscalers", "get create patch delete");
    // C5: what the schema fills into templates.
    plane.needs(who, None, "apiextensions.k8s.io", "customresourcedefinitions", "get");
    if args.networking {
        plane.needs(who, None, NETWORKING, "networkbindings subnetclaims", "get create");
        plane.needs(who, None, NETWORKING, "networkbindings", "delete");
    }
}

fn on_hub_of_cell(plane: &Plane, who: Who) {
    for city in [None, Some("DFW")] {
        plane.watches(who, &on_hub(city));
    }
    plane.needs(who, None, COMPUTE, "instances", "get create update patch delete");
    plane.needs(who, None, COMPUTE, "instances/status", "update patch");
    plane.needs(who, None, COMPUTE, "workloaddeployments/finalizers", "update");
}

fn claims(plane: &Plane, who: Who) {
    plane.needs(who, None, QUOTA, "resourceclaims", "get list watch create patch delete");
}

#[test]
fn the_cell_role_may_do_what_it_does() {
    let who = Who::Cell;
    let args = run(&["--enable-cell-controllers", "--networking", "--referenced-data"]);
    in_cell_of(&cell(), who, &args);
    on_hub_of_cell(&hub(), who);
    claims(&project(), who);
    let management = management();
    management.needs(who, Some("fedhub-cells"), "", "secrets", "list watch");
    management.needs(who, Some("fedhub-cells"), "events.k8s.io", "events", "create patch");
    let milo = Plane::of("a Milo", &["components/milo", "components/milo-for-cells"]);
    claims(&milo, Who::User("fedhub-cell"));
    milo.needs(Who::User("fedhub-cell"), None, "resourcemanager.miloapis.com", "projects", "list watch");
    milo.needs(Who::User("fedhub-cell"), None, "events.k8s.io", "events", "create patch");
}

/// Whoever reads metrics is asked about on the plane that the process runs in.
#[test]
fn each_role_may_ask_who_reads_its_metrics_where_that_is_served() {
    for (base, component, who) in
        [("base", "metrics-auth", Who::Management), ("cell", "cell-metrics-auth", Who::Cell)]
    {
        let asks = |plane: &Plane, who| {
            plane.allows(who, None, "authentication.k8s.io", "tokenreviews", "create")
                && plane.allows(who, None, "authorization.k8s.io", "subjectaccessreviews", "create")
        };
        let with = Plane { name: base, objects: overlay(base, &[component]) };
        assert!(asks(&with, who), "{base}");
        let other = if matches!(who, Who::Cell) { Who::Management } else { Who::Cell };
        assert!(!asks(&with, other) && !asks(&Plane { name: base, objects: overlay(base, &[]) }, who));
        // It reads no metrics itself, and a reader asks about nobody.
        assert!(with.rules(who, None).iter().all(|rule| rule["nonResourceURLs"].is_null()), "{base}");
        let reader = with.objects.iter().find(|object| object["metadata"]["name"] == "fedhub-metrics-reader");
        let expected = serde_json::json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]);
        assert_eq!(reader.unwrap()["rules"], expected);
    }
}

#[test]
fn one_process_may_do_what_both_roles_do() {
    let who = Who::Management;
    let cluster = Plane::of("the cluster", &["overlays/single-cluster"]);
    let args = run(&["--enable-management-controllers", "--enable-cell-controllers", "--networking"]);
    in_cell_of(&cluster, who, &args);
    on_project(&cluster, who, false);
    let both = ["components/hub", "components/hub-for-cells", "components/both-roles"];
    let hub = Plane::of("the hub", &both);
    on_hub_of_management(&hub, who);
    on_hub_of_cell(&hub, who);
}

/// With a component of its own, and for its own `ServiceAccount` alone.
#[test]
fn the_management_role_may_renew_its_own_token_where_that_is_wanted() {
    let (who, own) = (Who::Management, Some("fedhub-system"));
    for plane in [management(), hub(), project(), cell()] {
        for who in [Who::Management, Who::Cell] {
            let allowed = plane.allows(who, Some(who.namespace()), "", "serviceaccounts/token", "create");
            assert!(!allowed, "{who:?} on {}", plane.name);
        }
    }
    for directory in ["components/hub", "components/project-plane"] {
        let plane = Plane::of("a plane", &[directory, "components/own-token"]);
        plane.needs(who, own, "", "serviceaccounts/token", "create");
        assert!(!plane.allows(who, None, "", "serviceaccounts/token", "create"), "{directory}");
        let rules = plane.rules(who, own);
        let tokens =
            rules.iter().filter(|rule| strings(&rule["resources"]).contains(&"serviceaccounts/token"));
        let names: Vec<_> = tokens.flat_map(|rule| strings(&rule["resourceNames"])).collect();
        assert_eq!(names, ["fedhub"]);
    }
}

/// Cells hold credentials for what is not theirs: these may be in the wrong hands one day.
#[test]
fn nobody_may_do_what_is_not_their_business() {
    for plane in [management(), hub(), project(), cell()] {
        for who in [Who::Management, Who::Cell] {
            for rule in plane.rules(who, Some(who.namespace())) {
                for part in ["apiGroups", "resources", "verbs"] {
                    assert!(!strings(&rule[part]).contains(&"*"), "{who:?} on {}: {rule}", plane.name);
                }
            }
            for group in ["rbac.authorization.k8s.io", "apiextensions.k8s.io", "admissionregistration.k8s.io"]
            {
                let rules = plane.rules(who, Some(who.namespace()));
                let writes = |rule: &&&Value| {
                    let verbs: BTreeSet<_> = strings(&rule["verbs"]).into_iter().collect();
                    strings(&rule["apiGroups"]).contains(&group)
                        && !verbs.is_subset(&BTreeSet::from(["get", "list", "watch"]))
                };
                assert_eq!(rules.iter().find(writes), None, "{who:?} on {}", plane.name);
            }
        }
    }
    for (plane, who, group, resources, verbs) in [
        // A city's work is the federator's, and Karmada's.
        (hub(), Who::Cell, COMPUTE, "workloaddeployments", "create update patch delete"),
        (hub(), Who::Cell, "", "namespaces", "create update patch delete"),
        (hub(), Who::Cell, "cluster.karmada.io", "clusters", "create update patch delete"),
        (hub(), Who::Cell, "", "secrets", "get list watch"),
        (hub(), Who::Management, "", "secrets", "deletecollection"),
        (hub(), Who::Management, "", "namespaces", "delete"),
        // Users make Workloads.
        (project(), Who::Management, COMPUTE, "workloads", "create update delete"),
        (project(), Who::Management, "", "configmaps", "patch delete"),
        (project(), Who::Management, "", "secrets", "create update patch delete"),
        (project(), Who::Management, NETWORKING, "locationbindings networks", "create update patch delete"),
        (project(), Who::Cell, COMPUTE, "workloaddeployments", "get list watch update patch"),
        (project(), Who::Cell, COMPUTE, "instances", "get list watch create update patch delete"),
        (project(), Who::Cell, QUOTA, "resourceclaims", "update deletecollection"),
        (project(), Who::Cell, QUOTA, "resourceclaims/status", "get update patch"),
        (management(), Who::Cell, "coordination.k8s.io", "leases", "get create update patch"),
        (cell(), Who::Cell, COMPUTE, "workloaddeployments", "create update delete"),
        (cell(), Who::Cell, COMPUTE, "instances", "update deletecollection"),
        (cell(), Who::Cell, COMPUTE, "workloaddeployments/status instances/status", "patch"),
        (cell(), Who::Cell, COMPUTE, "instances/finalizers", "update"),
        // What the network service is asked for is never changed, and its own objects are read.
        (cell(), Who::Cell, NETWORKING, "networkbindings", "update patch"),
        (cell(), Who::Cell, NETWORKING, "subnetclaims", "update patch delete"),
        (cell(), Who::Cell, NETWORKING, "networkbindings/finalizers networkcontexts/finalizers", "update"),
        (cell(), Who::Cell, NETWORKING, "networkcontexts subnets", "create update patch delete"),
        (cell(), Who::Cell, NETWORKING, "locationbindings", "create update patch delete"),
        (cell(), Who::Cell, "autoscaling", "horizontalpodautoscalers", "update"),
        (cell(), Who::Cell, "", "secrets", "get create update patch delete"),
        (cell(), Who::Management, COMPUTE, "instances", "get list watch"),
    ] {
        for (resource, verb) in
            resources.split(' ').flat_map(|resource| verbs.split(' ').map(move |verb| (resource, verb)))
        {
            let allowed = plane.allows(who, Some(who.namespace()), group, resource, verb);
            assert!(!allowed, "{who:?} may {verb} {resource} on {}", plane.name);
        }
    }
    // Without the component that is about them, not even their names.
    let plain = Plane::of("a cell", &["cell"]);
    for resource in ["configmaps", "secrets"] {
        assert!(!plain.allows(Who::Cell, Some("fedhub-cells"), "", resource, "list"), "{resource}");
    }
    // The management role's Secrets are not the cells'.
    assert!(!management().allows(Who::Cell, Some("fedhub-system"), "", "secrets", "list"));
}
