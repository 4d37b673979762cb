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
    let revoked = json!({"phase": "Rejected", "entitledAt": "2026-01-01T00:00:00Z"});
    let pending = json!({});
    let active = json!({"phase": "Active"});
    let suspended = json!({"phase": "Active", "conditions": suspended()});
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
fn w9_what_was_deleted_went_with_its_kind_unless_its_crd_stands_and_is_no_younger() {
    let metadata_at = |object: &mut Object, created: Option<&str>, deleted: Option<&str>| {
        let at = |time: &str| Time(time.parse().unwrap());
        object.metadata.creation_timestamp = created.map(at);
        object.metadata.deletion_timestamp = deleted.map(at);
    };
    let before = Some("2026-01-01T00:00:00Z");
    let made = Some("2026-01-02T00:00:00Z");
    let after = Some("2026-01-02T00:00:01Z");
    for (entitlement, crd, expected) in [
        (made, Some((before, None)), false),
        (made, Some((made, None)), false),
        (made, Some((after, None)), true),
        (made, Some((before, before)), true),
        (made, Some((before, after)), true),
        (made, Some((None, None)), true),
        (made, None, true),
        (None, Some((before, None)), true),
    ] {
        let mut deleted = bare(Kind::ServiceEntitlement, "", "compute");
        metadata_at(&mut deleted, entitlement, None);
        let definition = crd.map(|(created, going)| {
            let mut definition = bare(Kind::CustomResourceDefinition, "", CRD);
            metadata_at(&mut definition, created, going);
            definition
        });
        assert_eq!(went_with_kind(&deleted, definition.as_ref()), expected, "{entitlement:?} {crd:?}");
    }
}

#[test]
fn i4_w9_the_service_is_withdrawn_only_where_it_was_granted_and_was_seen_to_go() {
    use Entitlement::{Absent, Active, Deleted, Denied, Revoked, Suspended, Undecided, Unreadable};
    use ServiceOutlook::{Held, Settled, Withdrawing};
    use ServiceState as S;
    let granted = Some(Grant::Granted);
    let held = Some(Grant::Suspended);
    let gone = Some(Grant::Withdrawn);
    for (last, now, permitted, state, grant, outlook) in [
        // Nothing is known: as if there were no entitlements.
        (None, Unreadable, true, S::Active, None, Settled),
        (None, Absent, true, S::Active, None, Settled),
        (None, Deleted, true, S::Active, None, Settled),
        (None, Undecided, true, S::Active, None, Settled),
        (None, Denied, true, S::Active, None, Settled),
        (None, Active, false, S::Active, granted, Settled),
        (None, Suspended, false, S::Suspended, held, Settled),
        (None, Revoked, false, S::Active, None, Withdrawing),
        (None, Revoked, true, S::Withdrawn, gone, Settled),
        // It was granted.
        (granted, Unreadable, true, S::Active, granted, Settled),
        (granted, Undecided, true, S::Active, granted, Settled),
        (granted, Absent, false, S::Active, granted, Held),
        (granted, Absent, true, S::Active, granted, Held),
        (granted, Deleted, false, S::Active, granted, Withdrawing),
        (granted, Deleted, true, S::Withdrawn, gone, Settled),
        (granted, Denied, false, S::Active, granted, Withdrawing),
        (granted, Denied, true, S::Withdrawn, gone, Settled),
        (granted, Revoked, false, S::Active, granted, Withdrawing),
        (granted, Revoked, true, S::Withdrawn, gone, Settled),
        (granted, Active, true, S::Active, granted, Settled),
        (granted, Suspended, true, S::Suspended, held, Settled),
        // It is suspended, and stays so in doubt.
        (held, Unreadable, true, S::Suspended, held, Settled),
        (held, Undecided, true, S::Suspended, held, Settled),
        (held, Absent, true, S::Suspended, held, Held),
        (held, Deleted, false, S::Suspended, held, Withdrawing),
        (held, Deleted, true, S::Withdrawn, gone, Settled),
        (held, Active, false, S::Active, granted, Settled),
        // It is withdrawn: in doubt nothing more is deleted, and nothing is made.
        (gone, Unreadable, true, S::Unknown, gone, Settled),
        (gone, Undecided, true, S::Withdrawn, gone, Settled),
        (gone, Absent, false, S::Withdrawn, gone, Settled),
        (gone, Deleted, false, S::Withdrawn, gone, Settled),
        (gone, Denied, false, S::Withdrawn, gone, Settled),
        (gone, Revoked, false, S::Withdrawn, gone, Settled),
        (gone, Suspended, false, S::Suspended, held, Settled),
        (gone, Active, false, S::Active, granted, Settled),
    ] {
        let expected = Decision { state, grant, outlook };
        assert_eq!(decide(last, now, permitted), expected, "{last:?} {now:?} {permitted}");
    }
}
