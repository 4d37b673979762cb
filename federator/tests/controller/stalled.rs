//! F8: Karmada loses that it has applied a WD, or the last status that its cell reported.

use fedhub_api::conditions::find;
use fedhub_core::names::RESYNC;
use serde_json::{Value, json};

use crate::controller::support::*;

const WRITE: &str = "update workloaddeployments/web";
const BINDING: &str = "web-workloaddeployment";

/// What Karmada says of `alpha`'s WD. It leaves out `applied: false`.
fn karmada_says(world: &World, applied: bool) {
    let mut item = json!({"clusterName": "cell-1"});
    if applied {
        item["applied"] = json!(true);
    }
    karmada_aggregates(world, item);
}

/// What Karmada aggregates of the cell of `alpha`'s WD.
fn karmada_aggregates(world: &World, item: Value) {
    let space = hub_space(&world.alpha);
    let binding = json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"namespace": space, "name": BINDING}, "spec": {"clusters": [{"name": "cell-1"}]},
    });
    if world.hub.get("ResourceBinding", &space, BINDING).is_none() {
        world.hub.put(binding).unwrap();
    }
    let status = json!({"aggregatedStatus": [item]});
    world.hub.patch_status("ResourceBinding", &space, BINDING, &status).unwrap();
}

fn resync(wd: &Value) -> Option<&str> {
    wd["metadata"]["annotations"][RESYNC].as_str()
}

fn seen(generation: Option<i64>) -> Value {
    let mut status = reported(1);
    status["observedGeneration"] = json!(generation);
    status
}

/// Both a generation whose report is lost, and one that was reported before what the cell says is left out.
#[tokio::test(start_paused = true)]
async fn f8_i7_karmada_is_made_to_apply_what_it_says_it_has_not_and_left_alone_after() {
    for generation in [2, 1] {
        let world = World::telling();
        let run = world.federated().await;
        world.report(WD, &seen(Some(1)));
        karmada_says(&world, true);
        quiet(3600).await;
        karmada_says(&world, false);
        if generation == 2 {
            let patch = json!({"spec": {"placementName": "q"}});
            world.alpha.patch("WorkloadDeployment", SPACE, WD, &patch).unwrap();
        } else {
            world.report(WD, &seen(None));
        }
        quiet(5).await;
        let from = world.positions();
        quiet(50).await;
        assert_eq!(world.writes(from)[0], [""; 0], "not before its time");
        quiet(20).await;
        let first = world.hub_wd(WD).unwrap();
        assert!(resync(&first).is_some());
        quiet(170).await;
        assert_eq!(world.writes(from)[0], [WRITE; 2], "again, after twice the time");
        assert_ne!(resync(&world.hub_wd(WD).unwrap()), resync(&first));
        assert_eq!(run.metrics.resyncs.get(), 2);
        // It applies it this time.
        karmada_says(&world, true);
        world.report(WD, &seen(Some(generation)));
        until("the status", || {
            let wd = world.wd(WD).unwrap();
            wd["status"]["observedGeneration"].as_i64() == Some(generation)
                && federated(&wd).is_some_and(|(status, _)| status == "True")
        })
        .await;
        quiet(60).await;
        assert_eq!(world.writes(from)[0], [WRITE; 3], "the annotation goes");
        assert_eq!(resync(&world.hub_wd(WD).unwrap()), None);
        assert_eq!(resync(&world.wd(WD).unwrap()), None);
        let from = world.positions();
        quiet(3600).await;
        run.stop().await;
        let run = world.run();
        quiet(3600).await;
        assert_eq!(world.writes(from), nothing(), "neither in steady state nor after a restart");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn f8_i7_a_cell_that_is_silent_is_asked_after_ever_more_seldom_and_that_is_said_once() {
    let world = World::telling();
    let run = world.federated().await;
    karmada_says(&world, true);
    quiet(30).await;
    let from = world.positions();
    quiet(5 * 60).await;
    assert_eq!(world.writes(from), nothing());
    quiet(55 * 60).await;
    let condition = find(&world.wd(WD).unwrap()["status"], "Federated").cloned().unwrap_or_default();
    assert_eq!((&condition["status"], &condition["reason"]), (&json!("Unknown"), &json!("AwaitingCell")));
    let message = condition["message"].as_str().unwrap_or_default();
    assert!(message.contains("what holds it is not known. Action required by the platform"), "{message}");
    let written = world.writes(from);
    assert!(written[0].is_empty() && written[1].len() == 1, "{written:?}");
    let get = format!("get resourcebindings/{BINDING}");
    let asked = world.asked(from)[0].iter().filter(|it| **it == get).count();
    assert_eq!(asked, 2 * 7, "of either plane's: {:?}", world.asked(from)[0]);
    assert_eq!(run.metrics.resyncs.get(), 0);
    run.stop().await;
}

/// Karmada compares a status with a cache of its `Work`: of a status that changes and is what it was again
/// within moments, it can keep the one in between, which lacks the generation.
#[tokio::test(start_paused = true)]
async fn f8_karmada_is_made_to_pass_on_the_last_status_where_it_kept_an_older_one() {
    let world = World::telling();
    let run = world.federated().await;
    world.report(WD, &seen(Some(1)));
    karmada_aggregates(&world, json!({"clusterName": "cell-1", "applied": true, "status": seen(Some(1))}));
    quiet(3600).await;
    let from = world.positions();
    world.report(WD, &seen(None));
    karmada_aggregates(&world, json!({"clusterName": "cell-1", "applied": true, "status": seen(None)}));
    quiet(50).await;
    assert_eq!(world.writes(from)[0], [""; 0], "not before its time");
    quiet(20).await;
    assert_eq!(world.writes(from)[0], [WRITE]);
    assert!(resync(&world.hub_wd(WD).unwrap()).is_some());
    karmada_aggregates(&world, json!({"clusterName": "cell-1", "applied": true, "status": seen(Some(1))}));
    world.report(WD, &seen(Some(1)));
    quiet(3600).await;
    assert_eq!(world.writes(from)[0], [WRITE; 2], "the annotation goes, and nothing comes after");
    assert_eq!(resync(&world.hub_wd(WD).unwrap()), None);
    assert_eq!(run.metrics.resyncs.get(), 1);
    run.stop().await;
}

/// An answer of a cell's admission as Karmada 1.16 passes it on.
const DENIED: &str = "Failed to apply all manifests (0/1): workloaddeployments.compute.datumapis.com \"web\" is \
    forbidden: ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: nothing may be created now";

/// Until an operator acts, the user reads what the cell refuses and who has to act, before and after a
/// restart.
#[tokio::test(start_paused = true)]
async fn u2_i7_a_refusal_of_the_cell_is_told_within_two_minutes_and_taken_back_with_its_report() {
    let world = World::telling();
    let run = world.federated().await;
    karmada_aggregates(&world, json!({"clusterName": "cell-1", "appliedMessage": DENIED}));
    let said = || {
        let condition = find(&world.wd(WD).unwrap()["status"], "Federated").cloned().unwrap_or_default();
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        [text("status"), text("reason"), text("message")]
    };
    quiet(120).await;
    let told = said();
    assert_eq!(told[..2], ["False", "RefusedByCell"]);
    assert!(
        told[2].starts_with("the cell refuses it: \"nothing may be created now\". Action required by the")
    );
    let events = || ["FederationFailed", "FederationRecovered"].map(|it| event_notes(&world.alpha, it).len());
    assert_eq!(events(), [1, 0]);
    quiet(3600).await;
    run.stop().await;
    let from = world.positions();
    let run = world.run();
    quiet(600).await;
    assert_eq!((said(), events()), (told, [1, 0]));
    assert!(world.writes(from)[1].is_empty(), "{:?}", world.writes(from)[1]);
    run.stop().await;
    karmada_aggregates(
        &world,
        json!({"clusterName": "cell-1", "appliedMessage": "x denied the request: not today"}),
    );
    let run = world.run();
    quiet(120).await;
    assert!(said()[2].contains("not today"), "Karmada is asked again after a restart: {:?}", said());
    karmada_says(&world, true);
    world.report(WD, &seen(Some(1)));
    until("the report", || said()[..2] == ["True", "Applied"]).await;
    quiet(5).await;
    assert_eq!(events(), [1, 1]);
    run.stop().await;
}
