//! What each role does, it may do.

use clap::Parser;
use fedhub_workload::instance_types::watched_at_source;

use super::plane::{COMPUTE, NETWORKING, Plane, QUOTA, Who, cell, hub, management, project};
use crate::deploy::{kustomize::overlay, strings};
use fedhub::args::{Args, Command, RunArgs};
use fedhub::run::cell::{in_cell, on_hub};
use fedhub::run::management::on_hub as management_on_hub;

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
    // R1 to R10: users write rollouts, fedhub reports on them.
    for status in ["workloads/status", "workloadrollouts/status", "workloaddeployments/status"] {
        plane.needs(who, None, COMPUTE, status, "update");
    }
    plane.needs(who, None, COMPUTE, "instances/status", "update");
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
    plane.needs(who, None, "work.karmada.io", "resourcebindings", "get delete");
    plane.needs(who, None, "config.karmada.io", "resourceinterpretercustomizations", "list");
}

#[test]
fn the_management_role_may_do_what_it_does() {
    let who = Who::Management;
    let own = Some("fedhub-system");
    let management = management();
    elects(&management, who);
    management.needs(who, own, "", "secrets", "list watch");
    management.needs(who, own, "", "configmaps", "get list watch create update");
    management.needs(who, own, "events.k8s.io", "events", "create patch");
    on_hub_of_management(&hub(), who);
    on_project(&project(), who, false);
    let milo = Plane::new("a Milo", &["components/milo"]);
    on_project(&milo, Who::User("fedhub"), true);
    milo.needs(Who::User("fedhub"), None, "resourcemanager.miloapis.com", "projects", "list watch");
    // W9: who is entitled is for the Milo to say.
    for verb in ["create", "update", "patch", "delete"] {
        let who = Who::User("fedhub");
        let group = "services.miloapis.com";
        assert!(!milo.allows(who, None, group, "serviceentitlements", verb), "{verb}");
    }
}

/// W8: the catalogue is read where that is asked for, and never written.
#[test]
fn the_management_role_reads_the_catalogue_where_it_is() {
    let with = Plane {
        name: "the management plane with the catalogue",
        objects: overlay("base", &["instance-types"]),
    };
    let milo =
        Plane::new("a Milo with the catalogue", &["components/milo", "components/milo-instance-types"]);
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
    let milo = Plane::new("a Milo", &["components/milo", "components/milo-for-cells"]);
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
        // It reads no metrics itself, and a reader may ask for no review.
        assert!(with.rules(who, None).iter().all(|rule| rule["nonResourceURLs"].is_null()), "{base}");
        let reader = with.objects.iter().find(|object| object["metadata"]["name"] == "fedhub-metrics-reader");
        let expected = serde_json::json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]);
        assert_eq!(reader.unwrap()["rules"], expected);
    }
}

#[test]
fn one_process_may_do_what_both_roles_do() {
    let who = Who::Management;
    let cluster = Plane::new("the cluster", &["overlays/single-cluster"]);
    let args = run(&["--enable-management-controllers", "--enable-cell-controllers", "--networking"]);
    in_cell_of(&cluster, who, &args);
    on_project(&cluster, who, false);
    let both = ["components/hub", "components/hub-for-cells", "components/both-roles"];
    let hub = Plane::new("the hub", &both);
    on_hub_of_management(&hub, who);
    on_hub_of_cell(&hub, who);
}

/// With a component of its own, and for its own `ServiceAccount` alone.
#[test]
fn the_management_role_may_renew_its_own_token_where_that_is_wanted() {
    let who = Who::Management;
    let own = Some("fedhub-system");
    for plane in [management(), hub(), project(), cell()] {
        for who in [Who::Management, Who::Cell] {
            let allowed = plane.allows(who, Some(who.namespace()), "", "serviceaccounts/token", "create");
            assert!(!allowed, "{who:?} on {}", plane.name);
        }
    }
    for directory in ["components/hub", "components/project-plane"] {
        let plane = Plane::new("a plane", &[directory, "components/own-token"]);
        plane.needs(who, own, "", "serviceaccounts/token", "create");
        assert!(!plane.allows(who, None, "", "serviceaccounts/token", "create"), "{directory}");
        let rules = plane.rules(who, own);
        let tokens =
            rules.iter().filter(|rule| strings(&rule["resources"]).contains(&"serviceaccounts/token"));
        let names: Vec<_> = tokens.flat_map(|rule| strings(&rule["resourceNames"])).collect();
        assert_eq!(names, ["fedhub"]);
    }
}
