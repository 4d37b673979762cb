//! Which requests are reviewed, of which plane, and by what.

use super::*;

#[tokio::test(start_paused = true)]
async fn w4_each_discovery_says_which_plane_asks() {
    let bare = "/validate-compute-datumapis-com-v1alpha-workload";
    let single = world(Discovery::Single).await;
    assert_eq!(single.create(bare, user("net"), &workload()).await["allowed"], true);
    assert!(Route::from_path(VALIDATE, Discovery::Single).is_err());
    assert!(Route::from_path(bare, Discovery::Kubeconfigs).is_err());
    // The catalogue may be on no project plane: nobody is asked about a type.
    let catalog = "/validate-compute-datumapis-com-v1alpha-instancetype";
    for discovery in [Discovery::Single, Discovery::Milo, Discovery::Kubeconfigs] {
        assert_eq!(Route::from_path(catalog, discovery).unwrap().plane, None);
    }
    assert!(
        Route::from_path(
            "/planes/a_b/validate-compute-datumapis-com-v1alpha-workload",
            Discovery::Kubeconfigs
        )
        .is_err()
    );
    for wrong in [
        "/",
        "/validate-compute-datumapis-com-v1alpha-instance",
        "/mutate-compute-datumapis-com-v1alpha-instancetype",
        "/validate-compute-datumapis-com-v1alpha-workloadrollout-scale",
    ] {
        assert!(Route::from_path(wrong, Discovery::Single).is_err(), "{wrong}");
    }

    let milo = world(Discovery::Milo).await;
    // A tenant's path is no word of the server's.
    assert!(Route::from_path(VALIDATE, Discovery::Milo).is_err());
    let of = |of: Value, name: Value| {
        let mut user = user("net");
        user["extra"]["iam.miloapis.com/parent-type"] = of;
        user["extra"]["iam.miloapis.com/parent-name"] = name;
        user
    };
    for (user, code) in [
        (of(json!(["Project"]), json!(["project-a"])), None),
        (of(json!(["Project"]), json!(["project-b"])), Some(503)),
        (of(json!(["Project"]), json!(["project-a", "project-b"])), Some(503)),
        (of(json!(["Organization"]), json!(["project-a"])), Some(503)),
        (user("net"), Some(503)),
    ] {
        let answer = milo.create(bare, user.clone(), &workload()).await;
        assert_eq!(answer["status"]["code"].as_u64(), code, "{user}: {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn w4_the_scale_of_a_wd_is_reviewed_and_no_plane_is_asked() {
    let world = world(Discovery::Kubeconfigs).await;
    let path = VALIDATE.replace("-workload", "-workloaddeployment-scale");
    let scale = |replicas: u32| {
        json!({
            "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web-dfw", "namespace": "shop"},
            "spec": {"replicas": replicas},
        })
    };
    let of = |replicas: u32| {
        let mut asked = review("WorkloadDeployment", user("other"), Some(&scale(1)), &scale(replicas));
        asked["request"]["kind"] = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        asked["request"]["subResource"] = json!("scale");
        asked
    };
    assert_eq!(world.ask(&path, &of(2)).await.unwrap()["allowed"], true);
    let refused = world.ask(&path, &of(1_000_000)).await.unwrap();
    assert_eq!(refused["status"]["details"]["causes"][0]["field"], "spec.replicas", "{refused}");
    assert!(world.plane.asked.lock().is_empty());
    let counted = |verdict| {
        let of = ["validate", "Scale", "update", verdict];
        world.webhooks.metrics.admission_requests.with_label_values(&of).get()
    };
    assert_eq!((counted("allowed"), counted("refused")), (1, 1));
    // Of the WD itself, and at the WD's own path.
    let mut whole = of(2);
    whole["request"]["subResource"] = Value::Null;
    assert_eq!(world.ask(&path, &whole).await.unwrap_err().0, 400);
    assert_eq!(
        world.ask(&VALIDATE.replace("-workload", "-workloaddeployment"), &of(2)).await.unwrap_err().0,
        400
    );
    for none in [
        "/mutate-compute-datumapis-com-v1alpha-workload-scale",
        "/validate-compute-datumapis-com-v1alpha-workload-scale",
    ] {
        assert!(Route::from_path(none, Discovery::Single).is_err(), "{none}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_review_is_told_so_and_a_deletion_passes() {
    let world = world(Discovery::Kubeconfigs).await;
    assert_eq!(world.ask(VALIDATE, &json!({"kind": "Pod"})).await.unwrap_err().0, 400);
    let empty = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"});
    assert_eq!(world.ask(VALIDATE, &empty).await.unwrap_err().0, 400);
    let other = world.ask(VALIDATE, &review("Instance", user("net"), None, &workload())).await.unwrap_err();
    assert_eq!(
        other,
        (400, "this path is for Workload, not for \"Instance.compute.datumapis.com\"\n".to_owned())
    );
    assert_eq!(world.counted("unknown", "unreadable"), 3);
    let mut deletion = review("Workload", user("other"), None, &workload());
    deletion["request"]["operation"] = json!("DELETE");
    deletion["request"]["oldObject"] = deletion["request"]["object"].take();
    assert_eq!(world.ask(VALIDATE, &deletion).await.unwrap()["allowed"], true);
    world.planes.stop().await;
}
