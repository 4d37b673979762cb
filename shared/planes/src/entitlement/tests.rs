//! What entitlements say, and what is decided by that.

use fedhub_core::names::SERVICE_NAME;
use fedhub_core::object::{Kind, TooLarge, bare, set_too_large};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::*;

fn entitlement(spec: Value, status: Value) -> Object {
    let mut of = bare(Kind::ServiceEntitlement, "", "compute");
    of.data = json!({"spec": spec, "status": status});
    of
}

fn ours(status: Value) -> Object {
    let mut status = status;
    status["serviceName"] = json!(SERVICE_NAME.1);
    entitlement(json!({"serviceRef": {"name": "any"}}), status)
}

fn suspended() -> Value {
    json!([{"type": "Suspended", "status": "True"}])
}

#[test]
fn w9_an_entitlement_is_read_by_its_phase() {
    let unpublished = json!([{"type": "Ready", "status": "False", "reason": "ServiceNotPublished"}]);
    for (status, expected) in [
        (json!({}), Entitlement::Undecided),
        (json!({"phase": "PendingApproval"}), Entitlement::Undecided),
        (json!({"phase": "Odd", "entitledAt": "2026-01-01T00:00:00Z"}), Entitlement::Undecided),
        (json!({"phase": "Active"}), Entitlement::Active),
        (json!({"phase": "Active", "conditions": suspended()}), Entitlement::Suspended),
        (
            json!({"phase": "Active", "conditions": [{"type": "Suspended", "status": "False"}]}),
            Entitlement::Active,
        ),
        (json!({"phase": "Rejected"}), Entitlement::Denied),
        (json!({"phase": "Rejected", "entitledAt": ""}), Entitlement::Denied),
        (json!({"phase": "Rejected", "entitledAt": "2026-01-01T00:00:00Z"}), Entitlement::Revoked),
        (
            json!({"phase": "Rejected", "entitledAt": "2026-01-01T00:00:00Z", "conditions": unpublished}),
            Entitlement::Undecided,
        ),
    ] {
        assert_eq!(read([ours(status.clone())].iter()), expected, "{status}");
    }
}

#[test]
fn w9_only_entitlements_to_this_service_count() {
    let active = |spec: Value, name: &str| entitlement(spec, json!({"phase": "Active", "serviceName": name}));
    let of = |name: &str| json!({"serviceRef": {"name": name}});
    for (entitlement, expected) in [
        (active(of("any"), SERVICE_NAME.1), Entitlement::Active),
        (active(of("compute"), "dns.example.org"), Entitlement::Absent),
        (active(of("compute"), ""), Entitlement::Active),
        (active(of("compute-datumapis-com"), ""), Entitlement::Active),
        (active(of("dns"), ""), Entitlement::Absent),
        (active(json!({}), ""), Entitlement::Absent),
    ] {
        assert_eq!(read([entitlement.clone()].iter()), expected, "{entitlement:?}");
    }
    let mut whole = bare(Kind::ServiceEntitlement, "", "compute");
    set_too_large(&mut whole, Some(TooLarge { size: 2, limit: 1 }));
    assert_eq!(read([whole].iter()), Entitlement::Unreadable);
    assert_eq!(read([].iter()), Entitlement::Absent);
}

#[test]
fn w9_of_several_entitlements_the_one_that_grants_most_counts() {
    let (revoked, pending) = (json!({"phase": "Rejected", "entitledAt": "2026-01-01T00:00:00Z"}), json!({}));
    let (active, suspended) =
        (json!({"phase": "Active"}), json!({"phase": "Active", "conditions": suspended()}));
    for (all, expected) in [
        ([&revoked, &active], Entitlement::Active),
        ([&suspended, &active], Entitlement::Active),
        ([&suspended, &revoked], Entitlement::Suspended),
        ([&pending, &revoked], Entitlement::Undecided),
    ] {
        let both = all.map(|status| ours(status.clone()));
        assert_eq!(read(both.iter()), expected, "{all:?}");
        assert_eq!(read(both.iter().rev()), expected, "{all:?}");
    }
}

#[test]
fn w9_absence_counts_where_the_crd_stands_and_is_older() {
    let at = |time: &str| time.parse::<Timestamp>().unwrap();
    let since = at("2026-01-02T00:00:00Z");
    let crd = |created: Option<&str>, deleted: Option<&str>| {
        let mut crd = bare(Kind::CustomResourceDefinition, "", CRD);
        crd.metadata.creation_timestamp = created.map(|time| Time(at(time)));
        crd.metadata.deletion_timestamp = deleted.map(|time| Time(at(time)));
        crd
    };
    let (before, after) = (Some("2026-01-01T00:00:00Z"), Some("2026-01-02T00:00:01Z"));
    for (crd, expected) in [
        (Some(crd(before, None)), Entitlement::Absent),
        (Some(crd(Some("2026-01-02T00:00:00Z"), None)), Entitlement::Absent),
        (Some(crd(after, None)), Entitlement::Unserved),
        (Some(crd(before, before)), Entitlement::Unserved),
        (Some(crd(before, after)), Entitlement::Unserved),
        (Some(crd(None, None)), Entitlement::Unserved),
        (None, Entitlement::Unserved),
    ] {
        assert_eq!(absence(crd.as_ref(), since), expected, "{crd:?}");
    }
}

#[test]
fn w9_the_service_is_withdrawn_only_where_it_was_granted_and_is_seen_gone() {
    use Entitlement::{Absent, Active, Denied, Revoked, Suspended, Undecided, Unreadable, Unserved};
    use ServiceState as S;
    let (granted, held, gone) = (Some(Grant::Granted), Some(Grant::Suspended), Some(Grant::Withdrawn));
    let unproven = Some(Grant::Unproven);
    for (last, now, waited, state, grant, waits) in [
        // Nothing is known: as if there were no entitlements.
        (None, Unreadable, true, S::Active, None, false),
        (None, Unserved, true, S::Active, None, false),
        (None, Absent, true, S::Active, None, false),
        (None, Undecided, true, S::Active, None, false),
        (None, Denied, true, S::Active, None, false),
        (None, Active, false, S::Active, granted, false),
        (None, Suspended, false, S::Suspended, held, false),
        (None, Revoked, false, S::Active, None, true),
        (None, Revoked, true, S::Withdrawn, gone, false),
        // It was granted.
        (granted, Unreadable, true, S::Active, granted, false),
        (granted, Undecided, true, S::Active, granted, false),
        (granted, Unserved, true, S::Active, None, false),
        (granted, Absent, false, S::Active, granted, true),
        (granted, Absent, true, S::Withdrawn, gone, false),
        (granted, Denied, false, S::Active, granted, true),
        (granted, Denied, true, S::Withdrawn, gone, false),
        (granted, Revoked, true, S::Withdrawn, gone, false),
        (granted, Active, true, S::Active, granted, false),
        (granted, Suspended, true, S::Suspended, held, false),
        // It is suspended, and stays so in doubt.
        (held, Unreadable, true, S::Suspended, held, false),
        (held, Undecided, true, S::Suspended, held, false),
        (held, Unserved, true, S::Suspended, unproven, false),
        (unproven, Unserved, true, S::Suspended, unproven, false),
        (unproven, Absent, true, S::Suspended, unproven, false),
        (unproven, Denied, true, S::Suspended, unproven, false),
        (unproven, Revoked, true, S::Withdrawn, gone, false),
        (unproven, Suspended, false, S::Suspended, held, false),
        (held, Absent, false, S::Suspended, held, true),
        (held, Absent, true, S::Withdrawn, gone, false),
        (held, Active, false, S::Active, granted, false),
        // It is withdrawn: in doubt nothing more is deleted, and nothing is made.
        (gone, Unreadable, true, S::Unknown, gone, false),
        (gone, Unserved, true, S::Unknown, gone, false),
        (gone, Undecided, true, S::Withdrawn, gone, false),
        (gone, Absent, false, S::Withdrawn, gone, false),
        (gone, Denied, false, S::Withdrawn, gone, false),
        (gone, Revoked, false, S::Withdrawn, gone, false),
        (gone, Suspended, false, S::Suspended, held, false),
        (gone, Active, false, S::Active, granted, false),
    ] {
        let expected = Decision { state, grant, waits };
        assert_eq!(decide(last, now, waited), expected, "{last:?} {now:?} {waited}");
    }
}
