//! What users and operators read of the federator, in `tests/snapshots`.

use fedhub_api::cells::{CellDown, CellRefusal, Hold};
use fedhub_api::conditions::{find, put, said};
use fedhub_api::facts::deployment::FEDERATED;
use fedhub_core::errors::{ApiError, Error, RequestError};
use fedhub_core::object::{PlaneId, TooLarge};
use fedhub_federator::cleanup::CleanupBlocked;
use fedhub_federator::progress::{Failure, Progress, Transition, transition};
use fedhub_federator::refusal::Remnant;
use fedhub_federator::refusal::{Conflict, Refusal};
use fedhub_federator::status::held;
use fedhub_testing::{Messages, assert_messages, one_of_each};
use kube::core::Status;
use serde_json::{Value, json};

use crate::plan::fixtures::now;

/// The status, reason and message of a condition, as a snapshot shows them.
fn shown(condition: &Value) -> (String, String) {
    let (status, reason, message) = said(condition);
    (format!("{status} {reason}"), message.to_owned())
}

fn refusals() -> Vec<Refusal> {
    let city = || "DFW".to_owned();
    one_of_each![
        Refusal::ObjectTooLarge(_) =>
            Refusal::ObjectTooLarge(TooLarge { size: 2_000_000, limit: 1_048_576 }),
        Refusal::InvalidCityCode(_) => Refusal::InvalidCityCode("New York".to_owned()),
        Refusal::InvalidName => Refusal::InvalidName,
        Refusal::NoCellForCity(_) => Refusal::NoCellForCity(city()),
        Refusal::AmbiguousCity(_) => Refusal::AmbiguousCity(city()),
        Refusal::FederationConflict(_) => Refusal::FederationConflict(Conflict::Deployment),
        Refusal::Moving(..) => Refusal::Moving(city(), "ORD".to_owned(), true),
        Refusal::RefusedByCell(..) => Refusal::RefusedByCell(city(), "ORD".to_owned(), denied()),
        Refusal::CellUnreachable(..) => Refusal::CellUnreachable(city(), "ORD".to_owned(), down()),
        Refusal::ServiceSuspended => Refusal::ServiceSuspended,
        Refusal::ServiceNotActive => Refusal::ServiceNotActive,
        Refusal::CleanupHeld(..) => Refusal::CleanupHeld(CleanupBlocked::HubUnreachable, None),
        Refusal::Terminating(_) => Refusal::Terminating("cell-dfw".to_owned()),
    ]
    .into()
}

/// The failure of a request to the hub that is answered with that code.
fn refused(code: u16, message: &str) -> Failure {
    let source = ApiError::Server(Box::new(Status::failure(message, "Any").with_code(code)));
    let resource = "workloaddeployments".to_owned();
    let request = RequestError { verb: "create", resource, plane: PlaneId::Hub, source };
    Failure::from_error(&Error::Request(request)).unwrap()
}

fn failures() -> Vec<Failure> {
    one_of_each![
        Failure::HubUnreachable => Failure::HubUnreachable,
        Failure::Throttled => Failure::Throttled,
        Failure::Forbidden(_) => refused(403, "workloaddeployments is forbidden"),
        Failure::Invalid(_) => refused(422, "WorkloadDeployment \"web\" is invalid: spec.template: Required value"),
        Failure::Remains(_) => Failure::Remains(Remnant::Namespace),
    ]
    .into()
}

/// A cell that Karmada does not reach.
fn down() -> CellDown {
    CellDown { cell: "cell-dfw".to_owned(), since: "2026-01-02T15:04:05Z".to_owned(), lost: false }
}

/// What the admission of a cell answers.
fn denied() -> CellRefusal {
    CellRefusal::Denied("nothing may be created during the freeze".to_owned())
}

/// Whether that progress is told in an Event.
fn is_told(progress: &Progress) -> bool {
    said(&federated(progress)).0 == "False"
}

fn progresses() -> Vec<Progress> {
    one_of_each![
        Progress::Pending => Progress::Pending,
        Progress::Refused(_) => Progress::Refused(Refusal::NoCellForCity("DFW".to_owned())),
        Progress::Failed(_) => Progress::Failed(Failure::HubUnreachable),
        Progress::AwaitingCell => Progress::AwaitingCell,
        Progress::Held(_) => Progress::Held(Hold::Refused(denied())),
        Progress::CellUnreachable(_) => Progress::CellUnreachable(down()),
        Progress::Applied => Progress::Applied,
    ]
    .into()
}

/// The condition `Federated` at that progress.
fn federated(progress: &Progress) -> Value {
    progress.condition(None, 7, now())
}

/// The Event of the step from one progress to another.
fn event(before: &Progress, after: &Progress) -> Transition {
    let [before, after] = [before, after].map(|progress| {
        let mut status = json!({});
        put(&mut status, federated(progress));
        assert!(find(&status, FEDERATED).is_some());
        status
    });
    transition(&before, &after, "DFW").unwrap()
}

/// What a plane may have answered where it refuses.
fn answer(why: CleanupBlocked) -> Option<&'static str> {
    match why {
        CleanupBlocked::HubRefuses => {
            Some("failed to delete workloaddeployments on the hub: it is protected")
        }
        CleanupBlocked::ProjectRefuses => Some(
            "failed to patch workloaddeployments on the project shop: admission webhook denied the request",
        ),
        CleanupBlocked::CellHolds | CleanupBlocked::CellUnreachable => Some("cell-dfw (web-0, web-1)"),
        _ => None,
    }
}

#[test]
fn conditions_and_events_of_the_federator_read_well() {
    let conflicts = one_of_each![
        Conflict::Namespace => Conflict::Namespace,
        Conflict::Deployment => Conflict::Deployment,
    ];
    let blocked = one_of_each![
        CleanupBlocked::HubUnreachable => CleanupBlocked::HubUnreachable,
        CleanupBlocked::HubRefuses => CleanupBlocked::HubRefuses,
        CleanupBlocked::ProjectRefuses => CleanupBlocked::ProjectRefuses,
        CleanupBlocked::CellHolds => CleanupBlocked::CellHolds,
        CleanupBlocked::CellUnreachable => CleanupBlocked::CellUnreachable,
        CleanupBlocked::HubObjectHeld => CleanupBlocked::HubObjectHeld,
        CleanupBlocked::HubStateLost => CleanupBlocked::HubStateLost,
        CleanupBlocked::TenantConflict => CleanupBlocked::TenantConflict,
        CleanupBlocked::NamespaceGone => CleanupBlocked::NamespaceGone,
    ];
    let failed = failures().into_iter().map(Progress::Failed);
    let troubles: Vec<_> =
        failed.clone().chain(progresses().into_iter().filter(Progress::is_trouble)).collect();
    let mut events = vec![Transition::federated("DFW"), Transition::moved("DFW", "ORD")];
    let told = troubles.iter().filter(|trouble| is_told(trouble));
    events.extend(told.map(|trouble| event(&Progress::Pending, trouble)));
    events.push(event(&troubles[0], &Progress::Applied));
    let remnants = one_of_each![
        Remnant::Namespace => Remnant::Namespace,
        Remnant::Policy => Remnant::Policy,
        Remnant::Deployment => Remnant::Deployment,
    ];
    let remains = remnants.map(|remnant| Progress::Failed(Failure::Remains(remnant)));
    let available = |refusal: &Refusal| shown(&held(&json!({}), refusal, now()));
    let mut messages = Messages::default();
    messages
        .section("Available: refusals", refusals().iter().map(available))
        .section("Available: conflicts", conflicts.map(Refusal::FederationConflict).iter().map(available))
        .section("Events CleanupHeld, by label", blocked.map(|it| (it.label(), it.message(answer(it)))))
        .section("Federated: progress", progresses().iter().map(|it| shown(&federated(it))))
        .section(
            "Federated: refusals",
            refusals().into_iter().map(|it| shown(&federated(&Progress::Refused(it)))),
        )
        .section("Federated: failures", failed.map(|it| shown(&federated(&it))))
        .section("Federated: what is being deleted", remains.iter().map(|it| shown(&federated(it))))
        .section("Events", events.into_iter().map(|it| (format!("{:?} {}", it.type_, it.reason), it.note)));
    assert_messages!("federator", messages);
}
