//! What users and operators read of the projector, in `tests/snapshots`.

use fedhub_api::cells::CellDown;
use fedhub_api::conditions::{find, said};
use fedhub_core::object::{Key, Kind, PlaneId};
use fedhub_planes::Distrust;
use fedhub_projector::quarantine::Reason;
use fedhub_projector::unreachable::projected_status;
use fedhub_projector::verdict::DeletionUnconfirmed;
use fedhub_testing::{Messages, assert_messages, one_of_each};
use jiff::Timestamp;
use serde_json::json;

fn quarantines() -> Vec<Reason> {
    one_of_each![
        Reason::Unidentifiable => Reason::Unidentifiable,
        Reason::Contradictory => Reason::Contradictory,
        Reason::StaleNamespace => Reason::StaleNamespace,
        Reason::Unnamed => Reason::Unnamed,
        Reason::NameTaken => Reason::NameTaken,
        Reason::DeploymentAbsent => Reason::DeploymentAbsent,
    ]
    .into()
}

/// The log's field `reason` of each deletion that is not confirmed.
fn unconfirmed() -> Vec<DeletionUnconfirmed> {
    let distrusts = one_of_each![
        Distrust::Restored => Distrust::Restored,
        Distrust::Unverified => Distrust::Unverified,
    ];
    let mut all: Vec<_> = one_of_each![
        DeletionUnconfirmed::NamespaceLost => DeletionUnconfirmed::NamespaceLost,
        DeletionUnconfirmed::DeploymentSilent => DeletionUnconfirmed::DeploymentSilent,
        DeletionUnconfirmed::Distrusted(_) => DeletionUnconfirmed::Distrusted(distrusts[0]),
        DeletionUnconfirmed::RateLimited => DeletionUnconfirmed::RateLimited,
    ]
    .into();
    all.extend(distrusts[1..].iter().copied().map(DeletionUnconfirmed::Distrusted));
    all
}

/// `Ready` of a projection whose Instance was Ready when its cell went down.
fn unreachable(lost: bool) -> (String, String) {
    let down = CellDown { cell: "cell-dfw".to_owned(), since: "2026-01-02T15:04:05Z".to_owned(), lost };
    let ready =
        json!({"conditions": [{"type": "Ready", "status": "True", "reason": "Available", "message": ""}]});
    let projected = projected_status(&ready, &ready, Some(&down), Timestamp::UNIX_EPOCH);
    let (status, reason, message) = find(&projected, "Ready").map(said).unwrap();
    (format!("{status} {reason}"), message.to_owned())
}

#[test]
fn conditions_events_and_logs_of_the_projector_read_well() {
    let key =
        Key { plane: PlaneId::Hub, kind: Kind::Instance, namespace: "ns-1".into(), name: "web-dfw-0".into() };
    let mut messages = Messages::default();
    messages
        .section("Ready: cells that are down", [unreachable(false), unreachable(true)])
        .section("Events Quarantined, by label", quarantines().iter().map(|it| (it.label(), it.note(&key))))
        .section(
            "Log: skipping projection deletion: hub Instance deletion not confirmed",
            unconfirmed().iter().map(|it| ("reason", it.label())),
        );
    assert_messages!("projector", messages);
}
