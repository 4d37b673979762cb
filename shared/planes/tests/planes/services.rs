//! The service in a project, by its entitlements and by what is remembered of it (W9).

use std::sync::Arc;

use fedhub_core::clock::Clock;
use fedhub_core::fence::Fence;
use fedhub_core::object::Kind;
use fedhub_fake_apiserver::resource::service_entitlement;
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::identity::withdrawal;
use fedhub_planes::{Identities, PROJECT_KINDS, Planes, ServiceState, Settings, Watched, watched};
use fedhub_testing::{ENTITLEMENTS, asked, delete_entitlements, entitle, gap, serve_entitlements, withdraw};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::planes::milo_projects::{management, remembered};
use crate::planes::support::{HOME, client, metrics, plane_name, quiet, until};

pub struct World {
    hub: ApiServer,
    pub management: ApiServer,
    pub alpha: ApiServer,
}

pub struct Run {
    pub planes: Arc<Planes>,
    stop: CancellationToken,
}

impl World {
    pub fn new() -> Self {
        let alpha = ApiServer::project_plane("alpha");
        serve_entitlements(&alpha);
        Self { hub: ApiServer::hub("hub"), management: management(), alpha }
    }

    /// A process that follows entitlements and remembers.
    pub fn run(&self) -> Run {
        let identities = Identities::new(HOME);
        let stop = CancellationToken::new();
        let mut project_kinds = watched::all(&PROJECT_KINDS);
        project_kinds.push(Watched::all(Kind::ServiceEntitlement).if_served());
        let settings =
            Settings { seed: 7, identities: Some(identities.clone()), project_kinds, ..Settings::default() };
        let clock = Clock::from_tokio(self.hub.clock().now());
        let planes = Planes::with(client(&self.hub), metrics(), clock, settings);
        planes.start();
        tokio::spawn(identities.run(client(&self.management), planes.clone(), Fence::open(), stop.clone()));
        planes.engage(&plane_name("alpha"), client(&self.alpha));
        Run { planes, stop }
    }

    /// What is remembered of the service.
    pub fn grant(&self) -> String {
        let entry = remembered(&self.management, "alpha");
        entry.splitn(3, '/').nth(2).unwrap_or_default().to_owned()
    }

    pub fn serve(&self) {
        self.alpha.register(service_entitlement());
    }

    pub fn unserve(&self) {
        self.alpha.unregister(ENTITLEMENTS);
        gap(&self.alpha);
    }

    /// What an operator does by `fedhub planes withdraw`.
    pub async fn decide(&self) -> bool {
        withdrawal::withdraw(&client(&self.management), HOME, &plane_name("alpha")).await.unwrap()
    }
}

impl Run {
    pub fn state(&self) -> ServiceState {
        self.planes.project(&plane_name("alpha")).unwrap().service()
    }

    /// Whether an operator has to decide.
    pub fn is_held(&self) -> bool {
        self.planes.project(&plane_name("alpha")).unwrap().misses_entitlement()
    }

    pub fn is_engaged(&self) -> bool {
        self.planes.engaged(&plane_name("alpha")).is_some()
    }

    pub async fn end(self) {
        self.planes.remember().await;
        self.stop.cancel();
        self.planes.stop().await;
    }
}

pub fn active() -> Value {
    json!({"phase": "Active"})
}

#[tokio::test(start_paused = true)]
async fn w9_a_service_is_withdrawn_when_its_entitlement_stays_gone_and_that_is_remembered() {
    let world = World::new();
    entitle(&world.alpha, &active());
    let run = world.run();
    until("the plane", || run.is_engaged()).await;
    assert_eq!(run.state(), ServiceState::Active);
    quiet(10).await;
    assert_eq!(world.grant(), "granted");
    withdraw(&world.alpha);
    quiet(50).await;
    assert_eq!(run.state(), ServiceState::Active, "it may come back");
    quiet(20).await;
    assert_eq!((run.state(), &*world.grant()), (ServiceState::Withdrawn, "withdrawn"));
    run.end().await;

    let run = world.run();
    assert_eq!(run.state(), ServiceState::Unknown, "nothing was read yet");
    until("the plane", || run.is_engaged()).await;
    quiet(1).await;
    assert_eq!(run.state(), ServiceState::Withdrawn);
    entitle(&world.alpha, &json!({"phase": "PendingApproval"}));
    quiet(300).await;
    assert_eq!(run.state(), ServiceState::Withdrawn, "asked for again");
    world.alpha.patch_status("ServiceEntitlement", "", "compute", &active()).unwrap();
    until("the service", || run.state() == ServiceState::Active).await;
    quiet(10).await;
    assert_eq!(world.grant(), "granted");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn w9_an_entitlement_that_comes_back_in_time_was_never_gone() {
    let world = World::new();
    entitle(&world.alpha, &active());
    let run = world.run();
    until("the plane", || run.is_engaged()).await;
    for _ in 0..3 {
        withdraw(&world.alpha);
        quiet(40).await;
        entitle(&world.alpha, &active());
        quiet(40).await;
        assert_eq!(run.state(), ServiceState::Active);
    }
    quiet(300).await;
    assert_eq!(run.state(), ServiceState::Active);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn w9_a_kind_that_is_not_served_any_more_withdraws_nothing() {
    let world = World::new();
    entitle(&world.alpha, &active());
    let run = world.run();
    until("the plane", || run.is_engaged()).await;
    quiet(10).await;
    // Its CRD goes, and the objects with it.
    withdraw(&world.alpha);
    world.unserve();
    quiet(3600).await;
    assert_eq!((run.state(), &*world.grant()), (ServiceState::Active, "granted"));
    // It is there again, and empty.
    world.serve();
    quiet(3600).await;
    assert_eq!((run.state(), run.is_held()), (ServiceState::Active, true));
    run.end().await;
    let run = world.run();
    quiet(3600).await;
    assert_eq!(run.state(), ServiceState::Active);
    entitle(&world.alpha, &active());
    quiet(10).await;
    withdraw(&world.alpha);
    until("the end", || run.state() == ServiceState::Withdrawn).await;
    run.end().await;
}

/// The last of a CRD that is being deleted.
fn finish(plane: &ApiServer) {
    let free = json!({"metadata": {"finalizers": null}});
    plane.patch("CustomResourceDefinition", "", ENTITLEMENTS, &free).unwrap();
}

#[tokio::test(start_paused = true)]
async fn w9_entitlements_that_go_with_their_crd_withdraw_nothing_while_the_kind_is_served() {
    let world = World::new();
    entitle(&world.alpha, &active());
    let run = world.run();
    until("the plane", || run.is_engaged()).await;
    quiet(10).await;
    // Something holds the CRD, and the server goes on to answer with empty lists.
    delete_entitlements(&world.alpha);
    quiet(3600).await;
    assert_eq!((run.state(), &*world.grant()), (ServiceState::Active, "granted"));
    assert!(run.is_held());
    run.end().await;
    let run = world.run();
    quiet(3600).await;
    assert_eq!(run.state(), ServiceState::Active);
    finish(&world.alpha);
    quiet(3600).await;
    serve_entitlements(&world.alpha);
    quiet(3600).await;
    assert_eq!(run.state(), ServiceState::Active);
    entitle(&world.alpha, &active());
    quiet(10).await;
    withdraw(&world.alpha);
    until("the end", || run.state() == ServiceState::Withdrawn).await;
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn w9_a_crd_that_was_made_anew_has_lost_its_entitlements() {
    let world = World::new();
    entitle(&world.alpha, &active());
    let run = world.run();
    until("the plane", || run.is_engaged()).await;
    quiet(10).await;
    delete_entitlements(&world.alpha);
    quiet(5).await;
    finish(&world.alpha);
    serve_entitlements(&world.alpha);
    quiet(3600).await;
    assert_eq!((run.state(), &*world.grant()), (ServiceState::Active, "granted"));
    assert!(run.is_held());
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn w9_while_the_crd_cannot_be_read_nothing_is_withdrawn() {
    for code in [403, 500] {
        let world = World::new();
        entitle(&world.alpha, &active());
        let run = world.run();
        until("the plane", || run.is_engaged()).await;
        quiet(10).await;
        let fault = world.alpha.fault(Fault::Status(code).on("get", "customresourcedefinitions"));
        withdraw(&world.alpha);
        quiet(3600).await;
        assert_eq!((run.state(), &*world.grant()), (ServiceState::Active, "granted"), "{code}");
        let asked = asked(&world.alpha, 0);
        let reads = asked.iter().filter(|it| it.contains(ENTITLEMENTS)).count();
        assert_eq!((reads, run.is_held()), (1, true), "an operator decides");
        world.alpha.clear_fault(fault);
        assert!(world.decide().await);
        until("the end", || run.state() == ServiceState::Withdrawn).await;
        run.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i4_w9_of_many_projects_that_lose_the_service_at_once_twenty_a_minute_are_withdrawn() {
    let rejected = json!({"phase": "Rejected", "entitledAt": "2026-01-01T00:00:00Z"});
    let lose: [&dyn Fn(&ApiServer); 2] = [&withdraw, &|plane: &ApiServer| {
        plane.patch_status("ServiceEntitlement", "", "compute", &rejected).unwrap();
    }];
    for lose in lose {
        let world = World::new();
        let run = world.run();
        let planes: Vec<_> = (0..30).map(|n| ApiServer::project_plane(&format!("p{n}"))).collect();
        for (n, plane) in planes.iter().enumerate() {
            serve_entitlements(plane);
            entitle(plane, &active());
            run.planes.engage(&plane_name(&format!("p{n}")), client(plane));
        }
        quiet(60).await;
        planes.iter().for_each(lose);
        let withdrawn = || {
            let states = run.planes.projects().into_iter().map(|plane| plane.service());
            states.filter(|state| *state == ServiceState::Withdrawn).count()
        };
        quiet(55).await;
        assert_eq!(withdrawn(), 0);
        // Each is remembered first.
        quiet(15).await;
        let first = withdrawn();
        assert!((20..=24).contains(&first), "{first}");
        quiet(30).await;
        assert_eq!(withdrawn(), 30);
        run.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn w9_in_doubt_what_was_withdrawn_is_neither_removed_further_nor_brought_back() {
    let world = World::new();
    entitle(&world.alpha, &active());
    let run = world.run();
    until("the plane", || run.is_engaged()).await;
    quiet(10).await;
    withdraw(&world.alpha);
    until("the end", || run.state() == ServiceState::Withdrawn).await;
    quiet(10).await;
    run.end().await;
    world.unserve();
    let run = world.run();
    until("the plane", || run.is_engaged()).await;
    quiet(600).await;
    assert_eq!((run.state(), &*world.grant()), (ServiceState::Unknown, "withdrawn"));
    world.serve();
    until("it to be known", || run.state() == ServiceState::Withdrawn).await;
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn w9_a_plane_that_fails_withdraws_nothing() {
    let world = World::new();
    entitle(&world.alpha, &active());
    let run = world.run();
    until("the plane", || run.is_engaged()).await;
    quiet(10).await;
    withdraw(&world.alpha);
    quiet(5).await;
    world.alpha.fault(Fault::Status(500).on("list", "serviceentitlements"));
    world.alpha.fault(Fault::Status(500).on("watch", "serviceentitlements"));
    gap(&world.alpha);
    quiet(3600).await;
    assert_eq!(run.state(), ServiceState::Active);
    world.alpha.clear_faults();
    until("a list", || run.is_held()).await;
    quiet(3600).await;
    assert_eq!((run.state(), &*world.grant()), (ServiceState::Active, "granted"));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn w9_a_withdrawal_is_remembered_before_anything_is_taken_away() {
    let world = World::new();
    entitle(&world.alpha, &active());
    let run = world.run();
    until("the plane", || run.is_engaged()).await;
    quiet(10).await;
    let fault = world.management.fault(Fault::Status(500).on("update", "configmaps"));
    withdraw(&world.alpha);
    quiet(600).await;
    assert_eq!((run.state(), &*world.grant()), (ServiceState::Active, "granted"));
    world.management.clear_fault(fault);
    until("the end", || run.state() == ServiceState::Withdrawn).await;
    assert_eq!(world.grant(), "withdrawn");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn w9_a_service_is_suspended_and_resumed() {
    let world = World::new();
    let suspended = json!([{"type": "Suspended", "status": "True", "reason": "R", "message": "",
        "lastTransitionTime": "2026-01-02T00:00:00Z"}]);
    entitle(&world.alpha, &json!({"phase": "Active", "conditions": suspended}));
    let run = world.run();
    until("the plane", || run.is_engaged()).await;
    quiet(10).await;
    assert_eq!((run.state(), &*world.grant()), (ServiceState::Suspended, "suspended"));
    let resumed = json!({"phase": "Active", "conditions": []});
    world.alpha.patch_status("ServiceEntitlement", "", "compute", &resumed).unwrap();
    until("it to be resumed", || run.state() == ServiceState::Active).await;
    run.end().await;
}
