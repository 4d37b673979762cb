//! The messages about referenced data, in one place.

use fedhub_api::conditions::said;
use fedhub_core::object::Kind;
use fedhub_testing::{Messages, assert_messages, one_of_each};
use fedhub_workload::referenced_data::desired::{Fault, Verdict, condition};
use fedhub_workload::referenced_data::snapshot::{Source, SourceState, Unsupported};
use jiff::Timestamp;

fn message(verdict: &Verdict) -> (String, String) {
    let condition = condition(verdict, None, 3, Timestamp::UNIX_EPOCH);
    let (status, reason, message) = said(&condition);
    (format!("{status} {reason}"), message.to_owned())
}

#[test]
fn messages_of_referenced_data() {
    let source =
        Source { kind: Kind::Secret, name: "db".to_owned(), optional: false, state: SourceState::Absent };
    let faults = one_of_each![
        Fault::NotFound => Fault::NotFound,
        Fault::Unauthorized => Fault::Unauthorized,
        Fault::TooLarge(_) => Fault::TooLarge(300_000),
        Fault::TooLargeTogether(_) => Fault::TooLargeTogether(1_100_000),
        Fault::NameTaken => Fault::NameTaken,
        Fault::Refused(_) => Fault::Refused(422),
        Fault::Unsupported(Unsupported::Name) => Fault::Unsupported(Unsupported::Name),
        Fault::Unsupported(Unsupported::TokenSecret) => Fault::Unsupported(Unsupported::TokenSecret),
    ];
    for fault in &faults {
        let reason = fault.reason();
        // The cell knows those that begin so (C9).
        assert!(reason.as_str().starts_with("Source"), "{reason}");
    }
    let verdicts = faults
        .map(|fault| fault.of(&source, "shop"))
        .into_iter()
        .chain([Verdict::ends(Kind::Secret, "db"), Verdict::Ready(Vec::new())]);
    let mut messages = Messages::default();
    messages.section(
        "ReferencedDataReady of a WorkloadDeployment in its project",
        verdicts.map(|it| message(&it)),
    );
    assert_messages!("referenced_data", messages);
}
