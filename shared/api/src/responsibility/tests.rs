use proptest::prelude::*;

use super::*;

#[test]
fn c9_every_reason_says_whose_job_it_is() {
    for (reason, expected) in [
        ("ImageUnavailable", Responsible::User),
        ("QuotaExceeded", Responsible::User),
        ("QuotaNoBudget", Responsible::User),
        ("ConfigurationError", Responsible::User),
        ("InvalidCityCode", Responsible::User),
        ("NoMatchingLocation", Responsible::Operator),
        ("CityCodeMismatch", Responsible::Operator),
        ("NetworkFailedToCreate", Responsible::Operator),
        ("QuotaMisconfigured", Responsible::Operator),
        ("InstanceNameTaken", Responsible::Operator),
        (INSTANCES_REFUSED, Responsible::Operator),
        (DEADLINE_EXCEEDED, Responsible::Operator),
        (DELETION_REFUSED, Responsible::Operator),
        (CELL_MISCONFIGURED, Responsible::Operator),
        ("Moving", Responsible::Nobody),
        ("InstancesProvisioning", Responsible::Nobody),
    ] {
        assert_eq!(responsible(reason), Some(expected), "{reason}");
    }
    for entry in TABLE {
        assert_eq!(entry.remedy.is_empty(), entry.responsible == Responsible::Nobody, "{}", entry.reason);
        assert_eq!(TABLE.iter().filter(|other| other.reason == entry.reason).count(), 1);
    }
    assert_eq!(responsible("Odd"), None);
    assert!(attributed("Odd", "words").ends_with("operator if this lasts"));
}

#[test]
fn c9_it_is_said_once_behind_what_is_wrong() {
    let once = attributed("ImageUnavailable", "no such image.").into_owned();
    assert_eq!(
        once,
        "no such image. Action required by the user: check the image's name and tag, and the pull secrets"
    );
    assert_eq!(attributed("ImageUnavailable", &once), once);
    // What an Instance says is lifted to its deployment under another name.
    let lifted = format!("0/1 replicas available. Instance \"web-0\": {once}");
    assert_eq!(attributed("InstancesProvisioning", &lifted), lifted);
    assert_eq!(attributed("Moving", ""), "No action required");
}

#[test]
fn c9_a_message_is_taken_apart_again() {
    for entry in TABLE {
        let (what, whole) = ("no such image", attributed(entry.reason, "no such image."));
        let apart = Attribution { what, responsible: Some(entry.responsible), remedy: entry.remedy };
        assert_eq!(separated(entry.reason, &whole), apart, "{}", entry.reason);
        assert_eq!(separated(entry.reason, what), apart, "{}", entry.reason);
    }
    let odd = attributed("Odd", "words");
    assert_eq!(separated("Odd", &odd), Attribution { what: "words", responsible: None, remedy: "" });
    let lifted = attributed("ImageUnavailable", "0/1 replicas available. No such image");
    let apart = separated("InstancesProvisioning", &lifted);
    assert_eq!(
        (apart.what, apart.responsible),
        ("0/1 replicas available. No such image", Some(Responsible::User))
    );
}

#[test]
fn u3_a_cause_is_a_reason_of_the_cell_that_somebody_has_to_act_on() {
    for reason in ["ImageUnavailable", "QuotaNoBudget", "NetworkFailedToCreate", DEADLINE_EXCEEDED] {
        assert_eq!(Cause::of(reason).map(Cause::reason), Some(reason));
    }
    for reason in ["", "Odd", "Suspended", "Moving", "HubUnreachable", "InvalidCityCode", "Available"] {
        assert_eq!(Cause::of(reason), None, "{reason}");
    }
}

proptest! {
    #[test]
    fn c9_no_message_is_too_long_and_none_loses_whose_job_it_is(
        at in 0..TABLE.len(),
        text in "[a-zü. ]{0,1500}",
        around in "[a-z ]{0,300}",
    ) {
        let Entry { reason, .. } = TABLE[at];
        let ending = TABLE[at].ending();
        let once = attributed(reason, &text).into_owned();
        prop_assert!(once.len() <= MESSAGE_MAX && once.ends_with(&*ending));
        prop_assert_eq!(&*attributed(reason, &once), &once);
        let lifted = format!("{around}: {once}");
        let lifted = attributed("InstancesProvisioning", &lifted);
        prop_assert!(lifted.len() <= MESSAGE_MAX && lifted.ends_with(&*ending), "{}", lifted);
    }
}
