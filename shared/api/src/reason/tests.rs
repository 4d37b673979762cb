use fedhub_core::message::MESSAGE_MAX;
use proptest::prelude::*;

use super::*;

#[test]
fn c9_every_reason_says_whose_job_it_is() {
    for (reason, expected) in [
        (Reason::ImageUnavailable, Responsible::User),
        (Reason::QuotaExceeded, Responsible::User),
        (Reason::QuotaNoBudget, Responsible::User),
        (Reason::ConfigurationError, Responsible::User),
        (Reason::InvalidCityCode, Responsible::User),
        (Reason::NoMatchingLocation, Responsible::Operator),
        (Reason::CityCodeMismatch, Responsible::Operator),
        (Reason::NetworkFailedToCreate, Responsible::Operator),
        (Reason::QuotaMisconfigured, Responsible::Operator),
        (Reason::InstanceNameTaken, Responsible::Operator),
        (Reason::InstancesRefused, Responsible::Operator),
        (Reason::TerminationDeadlineExceeded, Responsible::Operator),
        (Reason::DeletionRefused, Responsible::Operator),
        (Reason::CellMisconfigured, Responsible::Operator),
        (Reason::Moving, Responsible::Nobody),
        (Reason::InstancesProvisioning, Responsible::Nobody),
    ] {
        assert_eq!(reason.responsible(), expected, "{reason}");
    }
    for reason in Reason::all() {
        assert_eq!(reason.remedy().is_empty(), reason.responsible() == Responsible::Nobody, "{reason}");
        assert_eq!(Reason::parse(reason.as_str()), Some(reason));
        let meaning = reason.meaning().trim();
        assert!(meaning.ends_with('.') && meaning.len() < 100, "{reason}: {meaning}");
    }
    assert_eq!(Reason::parse("Odd"), None);
    assert!(attributed(None, "words").ends_with("operator if this lasts"));
}

#[test]
fn c9_it_is_said_once_behind_what_is_wrong() {
    let once = attributed(Reason::ImageUnavailable, "no such image.").into_owned();
    assert_eq!(
        once,
        "no such image. Action required by the user: check the image's name and tag, and the pull secrets"
    );
    assert_eq!(attributed(Reason::ImageUnavailable, &once), once);
    // A deployment repeats the words of an Instance under a reason of its own.
    let lifted = format!("0/1 replicas available. Instance \"web-0\": {once}");
    assert_eq!(attributed(Reason::InstancesProvisioning, &lifted), lifted);
    assert_eq!(attributed(Reason::Moving, ""), "No action required");
}

#[test]
fn c9_a_message_is_taken_apart_again() {
    for reason in Reason::all().filter(|reason| reason.is_unmet()) {
        let responsible = Some(reason.responsible());
        let apart = Attribution { what: "no such image", reason: Some(reason), responsible };
        assert_eq!(separated(reason.as_str(), &attributed(reason, "no such image.")), apart);
        assert_eq!(separated(reason.as_str(), "no such image"), apart);
    }
    let odd = attributed(None, "words");
    assert_eq!(separated("Odd", &odd), Attribution { what: "words", reason: None, responsible: None });
    let lifted = attributed(Reason::ImageUnavailable, "0/1 replicas available. No such image");
    assert_eq!(
        separated("InstancesProvisioning", &lifted),
        Attribution {
            what: "0/1 replicas available. No such image",
            reason: Some(Reason::ImageUnavailable),
            responsible: Some(Responsible::User),
        }
    );
    // Another version has another remedy, and says who acts in the same words.
    for (who, responsible) in [("user", Responsible::User), ("platform operator", Responsible::Operator)] {
        let message = format!("No such image. Action required by the {who}: try another one");
        assert_eq!(separated("InstancesProvisioning", &message).responsible, Some(responsible));
    }
}

#[test]
fn u3_a_problem_is_a_reason_of_the_cell_that_somebody_has_to_act_on() {
    use Reason::*;
    for reason in [ImageUnavailable, QuotaNoBudget, NetworkFailedToCreate, TerminationDeadlineExceeded] {
        assert!(reason.is_problem_of_cell(), "{reason}");
    }
    for reason in [Suspended, Stopped, Moving, HubUnreachable, InvalidCityCode, Pending] {
        assert!(!reason.is_problem_of_cell(), "{reason}");
    }
}

#[test]
fn a_foreign_reason_is_bounded_and_steers_nothing_where_it_is_printed() {
    let hostile = AnyReason::parse("Odd\u{1b}[2J\u{202e}");
    assert_eq!(hostile.to_string(), "Odd\\u{1b}[2J\\u{202e}");
    assert_eq!(hostile.as_str(), "Odd\u{1b}[2J\u{202e}", "the API has what was written");
    assert_eq!(hostile.known(), None);
    let long = AnyReason::parse(&"ü".repeat(4000));
    assert!(long.as_str().len() <= 1024 && long.to_string().chars().count() <= 64);
    for reason in Reason::all() {
        assert_eq!(AnyReason::parse(reason.as_str()), AnyReason::Known(reason));
        assert_eq!(AnyReason::from(reason).to_string(), reason.as_str());
    }
    for word in ServiceReason::VARIANTS {
        let text: &str = word.into();
        assert_eq!(Reason::parse(text), None, "{text} would have two meanings");
        assert_eq!(ServiceReason::parse(text), Some(*word));
    }
}

proptest! {
    #[test]
    fn c9_no_message_is_too_long_and_none_loses_whose_job_it_is(
        at in 0..Reason::VARIANTS.len(),
        text in "[a-zü. ]{0,1500}",
        around in "[a-z ]{0,300}",
    ) {
        let reason = Reason::VARIANTS[at];
        let ending = reason.about().ending();
        let once = attributed(reason, &text).into_owned();
        prop_assert!(once.len() <= MESSAGE_MAX && once.ends_with(&*ending));
        prop_assert_eq!(&*attributed(reason, &once), &once);
        let lifted = format!("{around}: {once}");
        let lifted = attributed(Reason::InstancesProvisioning, &lifted);
        prop_assert!(lifted.len() <= MESSAGE_MAX && lifted.ends_with(&*ending), "{}", lifted);
    }
}
