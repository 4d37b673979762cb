//! Each call of the contract, as the region takes it.

use std::sync::Arc;
use std::time::Duration;

use fedhub_provider::{
    Change, Deletion, FailureKind, Found, Phase, Power, Proof, Provider, Server, ServerId,
};
use fedhub_provider_region::ServerSpec;
use fedhub_region::{Fault, FaultAction, Hidden, Lag, Operation, Options, Plant, RateLimit, Tag};

use crate::support::{
    IMAGE, LARGE, NETWORK, NEW_IMAGE, PROJECT, SMALL, Setup, link, place, provider, spec, without_identity,
};

async fn until(
    setup: &Setup,
    id: &ServerId,
    fits: impl Fn(&Server<ServerSpec>) -> bool,
) -> Server<ServerSpec> {
    for _ in 0..100 {
        if let Some(server) = setup.provider.get(&place(), id).await.unwrap()
            && fits(&server)
        {
            return server;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the server does not come to it");
}

#[tokio::test]
async fn v1_a_server_is_made_found_changed_and_deleted() {
    let setup = Setup::new(Options::default()).await;
    let provider = &setup.provider;
    let link = link("web-0");
    let id = ServerId(fedhub_region::server_id(NETWORK, "web-0").unwrap().into());
    assert_eq!(
        provider.find(&link).await.unwrap(),
        Found::Unknown,
        "no server was seen that keeps to the rule"
    );
    let made = provider.create(&link, &spec()).await.unwrap();
    let other = ServerId(fedhub_region::server_id(NETWORK, "web-1").unwrap().into());
    let absent = Found::Absent(Proof::NotFound(other));
    assert_eq!(provider.find(&super::support::link("web-1")).await.unwrap(), absent);
    assert_eq!((&made.id, &made.instance, &made.place), (&id, &Some(link.instance.clone()), &link.place));
    assert_eq!(provider.change(&made.spec, &spec()), Change::Nothing);
    let Found::One(found) = provider.find(&link).await.unwrap() else { panic!("it stands") };
    assert_eq!(found.id, id);
    let running = until(&setup, &id, |server| server.phase == Phase::Running && server.settled).await;
    assert!(running.addresses[0].network_ip.is_some(), "{running:?}");

    let wanted = ServerSpec { public_ip: true, image_id: NEW_IMAGE.into(), ..spec() };
    assert_eq!(provider.change(&running.spec, &wanted), Change::Rebuild);
    provider.update(&link, &id, &wanted).await.unwrap();
    let rebuilt = until(&setup, &id, |server| server.settled && server.spec == wanted).await;
    assert_eq!(rebuilt.instance, Some(link.instance.clone()), "the tag stands");

    provider.power(&place(), &id, Power::Stop).await.unwrap();
    until(&setup, &id, |server| server.phase == Phase::Stopped).await;
    provider.power(&place(), &id, Power::Start).await.unwrap();
    until(&setup, &id, |server| server.phase == Phase::Running).await;
    provider.power(&place(), &id, Power::Restart).await.unwrap();

    assert_eq!(provider.delete(&place(), &id).await.unwrap(), Deletion::Accepted);
    assert!(provider.get(&place(), &id).await.unwrap().unwrap().deleting.is_some());
    let failure = provider.update(&link, &id, &wanted).await.unwrap_err();
    assert!(!failure.may_have_acted, "{failure:?}");
    while provider.get(&place(), &id).await.unwrap().is_some() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(provider.delete(&place(), &id).await.unwrap(), Deletion::Gone);
    assert!(provider.list(&place()).await.unwrap().is_empty());
    setup.region.region.check().unwrap();
}

#[tokio::test]
async fn v1_a_second_one_of_a_name_is_a_conflict_however_the_first_was_answered() {
    let setup = Setup::new(Options::default()).await;
    for (n, action) in [FaultAction::Lose, FaultAction::CutShort].into_iter().enumerate() {
        let link = link(&format!("web-{n}"));
        setup.region.region.fault(Fault::once(Operation::CreateServer, action.clone()));
        let failure = setup.provider.create(&link, &spec()).await.unwrap_err();
        assert!(failure.may_have_acted, "{action:?}: {failure:?}");
        let failure = setup.provider.create(&link, &spec()).await.unwrap_err();
        assert_eq!((failure.kind, failure.may_have_acted), (FailureKind::Conflict, false), "{failure:?}");
        assert!(matches!(setup.provider.find(&link).await.unwrap(), Found::One(_)));
    }
    assert_eq!(setup.region.region.servers().len(), 2);
}

#[tokio::test]
async fn v3_a_list_without_it_proves_nothing() {
    let setup = Setup::new(Options::default()).await;
    let link = link("web-0");
    let made = setup.provider.create(&link, &spec()).await.unwrap();
    let region = &setup.region.region;
    assert!(region.hide(&made.id.0, Hidden::Lists));
    assert!(setup.provider.list(&place()).await.unwrap().is_empty());
    let Found::One(found) = setup.provider.find(&link).await.unwrap() else { panic!("its ID is known") };
    assert_eq!(found.id, made.id);
    region.retag(&made.id.0, Vec::new());
    assert_eq!(
        setup.provider.find(&link).await.unwrap(),
        Found::Unknown,
        "a tag was lost, which says nothing"
    );
}

#[tokio::test]
async fn v2_several_of_a_tag_are_all_named() {
    let setup = Setup::new(Options::default()).await;
    let link = link("web-0");
    setup.provider.create(&link, &spec()).await.unwrap();
    setup.region.region.plant(Plant {
        name: "stranger".to_owned(),
        network_id: NETWORK.to_owned(),
        tags: vec![Tag { name: fedhub_region::INSTANCE_TAG.to_owned(), value: link.instance.to_string() }],
        flavor_id: SMALL.to_owned(),
        image_id: IMAGE.to_owned(),
        id: None,
        ours: false,
    });
    let Found::Many(all) = setup.provider.find(&link).await.unwrap() else { panic!("two have the tag") };
    assert_eq!(all.len(), 2);
    assert_eq!(setup.provider.list(&place()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn v3_a_region_that_names_servers_otherwise_proves_no_absence() {
    let setup = Setup::new(Options::default()).await;
    let body = r#"{"metadata":{"id":"b0000000-0000-4000-8000-000000000001","name":"web-0","projectId":"p"},
        "spec":{"flavorId":"f","imageId":"i"},"status":{"regionId":"r","networkId":"n"}}"#;
    let said =
        FaultAction::Say { status: 201, content_type: "application/json".to_owned(), body: body.to_owned() };
    setup.region.region.fault(Fault::once(Operation::CreateServer, said));
    setup.provider.create(&link("web-0"), &spec()).await.unwrap();
    assert_eq!(setup.provider.find(&link("web-1")).await.unwrap(), Found::Unknown);
}

#[tokio::test]
async fn v3_each_process_sees_for_itself_how_servers_are_named() {
    let setup = Setup::new(Options::default()).await;
    let another = || provider(&setup.region.url(), &setup.region.url(), setup.folder.path());
    let made = setup.provider.create(&link("web-0"), &spec()).await.unwrap();
    let listed = another();
    assert_eq!(listed.find(&link("web-1")).await.unwrap(), Found::Unknown);
    assert_eq!(listed.list(&place()).await.unwrap().len(), 1);
    assert!(matches!(listed.find(&link("web-1")).await.unwrap(), Found::Absent(_)));
    let got = another();
    assert!(got.get(&place(), &made.id).await.unwrap().is_some());
    assert!(matches!(got.find(&link("web-1")).await.unwrap(), Found::Absent(_)));
    setup.region.region.plant(Plant {
        name: "named-otherwise".to_owned(),
        network_id: NETWORK.to_owned(),
        tags: vec![Tag { name: fedhub_region::INSTANCE_TAG.to_owned(), value: "another".to_owned() }],
        flavor_id: SMALL.to_owned(),
        image_id: IMAGE.to_owned(),
        id: Some("b0000000-0000-4000-8000-0000000000ee".to_owned()),
        ours: true,
    });
    assert_eq!(listed.list(&place()).await.unwrap().len(), 2);
    assert_eq!(listed.find(&link("web-1")).await.unwrap(), Found::Unknown, "one of ours breaks the rule");
}

#[tokio::test]
async fn what_is_refused_says_who_can_change_it() {
    let setup = Setup::new(Options::default()).await;
    let link = link("web-0");
    let unknown = ServerSpec { image_id: "b0000000-0000-4000-8000-00000000000f".into(), ..spec() };
    let failure = setup.provider.create(&link, &unknown).await.unwrap_err();
    assert_eq!((failure.kind, failure.may_have_acted), (FailureKind::Invalid, false), "{failure:?}");
    let made = setup.provider.create(&link, &spec()).await.unwrap();
    let failure = setup.provider.power(&place(), &made.id, Power::Start).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Conflict, "it is not in a state for it: {failure:?}");
    let failure = setup.provider.update(&link, &made.id, &unknown).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Invalid, "the image is not there, the server is: {failure:?}");
    let gone = ServerId("b0000000-0000-4000-8000-0000000000ff".into());
    let failure = setup.provider.update(&link, &gone, &spec()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Conflict, "the server is not there: {failure:?}");
    let other = ServerSpec { flavor_id: LARGE.into(), ..spec() };
    assert_eq!(setup.provider.change(&made.spec, &other), Change::Recreate);
    let failure = setup.provider.update(&link, &made.id, &other).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Invalid, "{failure:?}");
    let nobody = ServerId("../../../admin".into());
    assert_eq!(setup.provider.get(&place(), &nobody).await.unwrap_err().kind, FailureKind::Invalid);
}

#[tokio::test]
async fn v4_quota_is_taken_found_and_given_back() {
    let setup = Setup::new(Options::default()).await;
    let link = link("web-0");
    setup.region.region.fault(Fault::once(Operation::CreateAllocation, FaultAction::Lose));
    assert!(setup.provider.reserve(&link, &spec()).await.unwrap_err().may_have_acted);
    let held = setup.provider.reserved(&link).await.unwrap();
    assert_eq!(held.len(), 1, "what was lost is found");
    let taken = setup.region.region.allocations();
    let amounts: Vec<_> = taken[0].allocations.iter().map(|it| (it.kind.as_str(), it.committed)).collect();
    assert_eq!(amounts, [("servers", 1), ("gpus", 2)]);
    assert_eq!(setup.provider.release(&place(), &held[0]).await.unwrap(), Deletion::Accepted);
    assert_eq!(setup.provider.release(&place(), &held[0]).await.unwrap(), Deletion::Gone);
    setup.region.region.set_quota("servers", Some(0));
    let failure = setup.provider.reserve(&link, &spec()).await.unwrap_err();
    assert_eq!((failure.kind, failure.may_have_acted), (FailureKind::Quota, false), "{failure:?}");
    let conflict = FaultAction::Answer { status: 409, description: None, retry_after: None };
    setup.region.region.fault(Fault::once(Operation::CreateAllocation, conflict));
    let failure = setup.provider.reserve(&link, &spec()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Retry, "another one held the lock: {failure:?}");
}

#[tokio::test]
async fn v4_quota_of_a_service_that_is_not_configured_any_more_is_not_gone() {
    let setup = Setup::new(Options::default()).await;
    let held = setup.provider.reserve(&link("web-0"), &spec()).await.unwrap();
    let without = without_identity(&setup.region.url(), setup.folder.path());
    let failure = without.release(&place(), &held).await.unwrap_err();
    assert_eq!((failure.kind, failure.may_have_acted), (FailureKind::Denied, false), "{failure}");
    assert!(failure.message.contains("identityUrl"), "{failure}");
    assert_eq!(setup.region.region.allocations().len(), 1);
    let nothing = without.reserve(&link("web-1"), &spec()).await.unwrap();
    assert_eq!(without.release(&place(), &nothing).await.unwrap(), Deletion::Gone, "none was taken");
}

#[tokio::test]
async fn reads_that_lag_are_no_failure() {
    let options = Options { lag: Lag { list: 60_000, get: 60_000, orders: 0 }, ..Options::default() };
    let setup = Setup::new(options).await;
    let made = setup.provider.create(&link("web-0"), &spec()).await.unwrap();
    assert!(setup.provider.list(&place()).await.unwrap().is_empty());
    assert!(
        setup.provider.get(&place(), &made.id).await.unwrap().is_none(),
        "the caller waits for it to show"
    );
    assert_eq!(setup.provider.create(&link("web-0"), &spec()).await.unwrap_err().kind, FailureKind::Conflict);
}

#[tokio::test]
async fn v2_one_beside_another_that_cannot_be_read_is_not_known_to_be_the_only_one() {
    let setup = Setup::new(Options::default()).await;
    let link = link("web-0");
    let made = setup.provider.create(&link, &spec()).await.unwrap();
    let body = serde_json::json!([{
        "metadata": {"id": made.id.0, "name": "web-0", "projectId": PROJECT,
            "tags": [{"name": fedhub_region::INSTANCE_TAG, "value": link.instance}]},
        "spec": {"flavorId": "f", "imageId": "i"},
        "status": {"regionId": "r", "networkId": "n"},
    }, {"metadata": {"id": "another"}}]);
    let said =
        FaultAction::Say { status: 200, content_type: "application/json".to_owned(), body: body.to_string() };
    setup.region.region.fault(Fault::once(Operation::ListServers, said));
    assert_eq!(setup.provider.find(&link).await.unwrap(), Found::Unknown);
}

#[tokio::test]
async fn v7_a_burst_keeps_the_services_limit_and_no_create_fails() {
    let limit = RateLimit { per_second: 20, burst: 20 };
    let setup = Setup::new(Options { rate_limit: Some(limit), ..Options::default() }).await;
    let provider = Arc::new(setup.provider);
    let creating: Vec<_> = (0..60)
        .map(|n| {
            let provider = provider.clone();
            tokio::spawn(async move {
                let link = link(&format!("web-{n}"));
                loop {
                    let Err(failure) = provider.create(&link, &spec()).await else { return };
                    assert!(
                        matches!(failure.kind, FailureKind::Retry | FailureKind::Unavailable),
                        "{failure}"
                    );
                    assert!(!failure.may_have_acted, "{failure}");
                    tokio::time::sleep(failure.after.unwrap()).await;
                }
            })
        })
        .collect();
    for creating in creating {
        creating.await.unwrap();
    }
    let region = &setup.region.region;
    assert_eq!(region.servers().len(), 60);
    let asked = region.requests(Operation::CreateServer);
    assert!(asked < 120, "{asked} requests for 60 servers");
}
