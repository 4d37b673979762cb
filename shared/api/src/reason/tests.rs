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
    for reason in Reason::all() {
        let apart = Attribution { what: "no such image", reason: Some(reason) };
        assert_eq!(separated(reason.as_str(), &attributed(reason, "no such image.")), apart);
        assert_eq!(separated(reason.as_str(), "no such image"), apart);
    }
    let odd = attributed(None, "words");
    assert_eq!(separated("Odd", &odd), Attribution { what: "words", reason: None });
    let lifted = attributed(Reason::ImageUnavailable, "0/1 replicas available. No such image");
    assert_eq!(
        separated("InstancesProvisioning", &lifted),
        Attribution { what: "0/1 replicas available. No such image", reason: Some(Reason::ImageUnavailable) }
    );
}

#[test]
fn u3_a_problem_is_a_reason_of_the_cell_that_somebody_has_to_act_on() {
    use Reason::*;
    for reason in [ImageUnavailable, QuotaNoBudget, NetworkFailedToCreate, TerminationDeadlineExceeded] {
        assert!(reason.is_problem_of_cell(), "{reason}");
    }
    for reason in [Suspended, Moving, HubUnreachable, InvalidCityCode, Pending] {
        assert!(!reason.is_problem_of_cell(), "{reason}");
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
