//! The errors that users and operators see, in `tests/snapshots`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use fedhub_core::clock::parse_duration;
use fedhub_core::errors::{ApiError, Category, Error, Excess, NotSent, RequestError, chain};
use fedhub_core::names::{InvalidPlaneName, PlaneName};
use fedhub_core::object::{PlaneId, Unreadable};
use fedhub_testing::{Messages, assert_messages, one_of_each};
use kube::core::{ObjectMeta, Status};

fn request(source: ApiError) -> RequestError {
    let plane = PlaneId::Project(PlaneName::new("shop").unwrap());
    RequestError { verb: "update", resource: "instances".to_owned(), plane, source }
}

#[test]
fn errors_read_well() {
    let refused = Status::failure("instances \"web-0\" is forbidden", "Forbidden").with_code(403);
    let unreadable = Unreadable { metadata: ObjectMeta::default(), error: "expected a map".to_owned() };
    let errors = one_of_each![
        Error::Request(_) => Error::Request(request(ApiError::Server(Box::new(refused)))),
        Error::NotEngaged(_) => Error::NotEngaged(PlaneId::Hub),
        Error::NamespaceGone { .. } =>
            Error::NamespaceGone { plane: PlaneId::Hub, namespace: "ns-1".to_owned() },
        Error::Bug(_) => Error::Bug("a WorkloadDeployment without UID".to_owned()),
    ];
    let reasons = one_of_each![
        NotSent::Fenced => NotSent::Fenced,
        NotSent::CircuitOpen => NotSent::CircuitOpen,
        NotSent::Suspended => NotSent::Suspended,
        NotSent::Paused => NotSent::Paused,
        NotSent::IdentityUnknown => NotSent::IdentityUnknown,
        NotSent::PlaneDisengaged => NotSent::PlaneDisengaged,
    ];
    let unread: [ApiError; 2] = [unreadable.into(), Excess::Object(1_048_576).into()];
    let sources = reasons.into_iter().map(ApiError::from).chain(unread);
    let names = one_of_each![
        InvalidPlaneName::Empty => InvalidPlaneName::Empty,
        InvalidPlaneName::Ambiguous(_) => InvalidPlaneName::Ambiguous("a_b".to_owned()),
        InvalidPlaneName::NotALabel(_) => InvalidPlaneName::NotALabel("a b".to_owned()),
    ];
    let mut messages = Messages::default();
    messages
        .section("Errors of a reconcile", errors.iter().map(|error| (error.category(), chain(error))))
        .section(
            "Requests that were not sent, or whose answer was not read",
            sources.map(request).map(|error| (error.category(), chain(&error))),
        )
        .section("Names of planes", names.iter().map(|error| (Category::Invalid, error)))
        .section("Durations", ["9", "1 s"].map(|text| (text, parse_duration(text).unwrap_err())));
    assert_messages!("errors", messages);
}
