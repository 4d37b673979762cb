//! Instances that their user stopped: no step waits for them.

use fedhub_cell::domain::instances::{Deployment, Instance, plan};
use fedhub_core::object::{Kind, Object, bare};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::json;

use super::support::*;

/// An Instance of the WD on a release, whose `Ready` is False for that reason; True for an empty one.
fn instance(ordinal: u32, release: u32, reason: &str) -> Object {
    let mut instance = bare(Kind::Instance, "ns-a", &format!("{WD}-{ordinal}"));
    instance.metadata.uid = Some(format!("uid-of-{ordinal}"));
    let owner =
        OwnerReference { uid: WD_UID.to_owned(), controller: Some(true), ..OwnerReference::default() };
    instance.metadata.owner_references = Some(vec![owner]);
    let wd = wd(template(release));
    let status = if reason.is_empty() { "True" } else { "False" };
    instance.data = json!({
        "spec": {"controller": {"templateHash": Deployment::from_object(&wd).template_hash}},
        "status": {"conditions": [{"type": "Ready", "status": status, "reason": reason}]},
    });
    instance
}

#[test]
fn v9_no_step_waits_for_an_instance_that_its_user_stopped() {
    for (what, desired, stands, expected) in [
        ("it stays", 2, vec![(0, 2, "Stopped"), (1, 2, "")], "rest"),
        ("more are wanted", 3, vec![(0, 2, "Stopped"), (1, 2, "")], "create 2"),
        ("a roll goes on", 3, vec![(0, 1, ""), (1, 2, "Stopped"), (2, 2, "")], "replace web-0"),
        ("it is replaced too", 2, vec![(0, 2, ""), (1, 1, "Stopped")], "replace web-1"),
        ("any other is awaited", 3, vec![(0, 2, "Stopping"), (1, 2, "")], "NotReady web-0"),
    ] {
        let objects: Vec<_> =
            stands.iter().map(|(at, release, reason)| instance(*at, *release, reason)).collect();
        let views: Vec<_> = objects.iter().map(Instance::from_object).collect();
        let wd = wd(template(2));
        assert_eq!(words(&plan(&Deployment::from_object(&wd), desired, &views)), expected, "{what}");
    }
}
