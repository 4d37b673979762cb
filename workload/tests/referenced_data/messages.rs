//! The messages about referenced data, in one place.

use fedhub_api::conditions::said;
use fedhub_core::object::Kind;
use fedhub_testing::{Messages, assert_messages, one_of_each};
use fedhub_workload::referenced_data::desired::{DataVerdict, SourceFault, condition};
use fedhub_workload::referenced_data::snapshot::{DataSource, SourceState, Unsupported};
use jiff::Timestamp;

fn message(verdict: &DataVerdict) -> (String, String) {
    let condition = condition(verdict, None, 3, Timestamp::UNIX_EPOCH);
    let (status, reason, message) = said(&condition);
    (format!("{status} {reason}"), message.to_owned())
}

#[test]
fn messages_of_referenced_data() {
    let source =
        DataSource { kind: Kind::Secret, name: "db".to_owned(), optional: false, state: SourceState::Absent };
    let faults = one_of_each![
        SourceFault::NotFound => SourceFault::NotFound,
        SourceFault::Unauthorized => SourceFault::Unauthorized,
        SourceFault::TooLarge(_) => SourceFault::TooLarge(300_000),
        SourceFault::TooLargeTogether(_) => SourceFault::TooLargeTogether(1_100_000),
        SourceFault::NameTaken => SourceFault::NameTaken,
        SourceFault::Refused(_) => SourceFault::Refused(422),
        SourceFault::Unsupported(Unsupported::Name) => SourceFault::Unsupported(Unsupported::Name),
        SourceFault::Unsupported(Unsupported::TokenSecret) => SourceFault::Unsupported(Unsupported::TokenSecret),
    ];
    for fault in &faults {
        let reason = fault.reason();
        // The cell knows those that begin so (C9).
        assert!(reason.as_str().starts_with("Source"), "{reason}");
    }
    let verdicts = faults
        .map(|fault| fault.of(&source, "shop"))
        .into_iter()
        .chain([DataVerdict::ends(Kind::Secret, "db"), DataVerdict::Ready(Vec::new())]);
    let mut messages = Messages::default();
    messages.section(
        "ReferencedDataReady of a WorkloadDeployment in its project",
        verdicts.map(|it| message(&it)),
    );
    assert_messages!("referenced_data", messages);
}
