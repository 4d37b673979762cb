//! The decisions.

use fedhub_cli::access::catalog::{Mode, Offer};
use fedhub_cli::access::plan::{Consent, Gate, Request, consent, gate, request};
use fedhub_cli::access::state::{Access, State};
use fedhub_testing::condition;
use jiff::Timestamp;
use kube::core::DynamicObject;
use serde_json::{Value, json};

use super::{entitlement, status};

#[test]
fn an_entitlement_is_read_as_other_plugins_read_it() {
    let suspended = {
        let mut status = status("Active", "EntitlementActive", true);
        let conditions = status["conditions"].as_array_mut().unwrap();
        conditions.push(condition("Suspended", "True", "Unpaid", "Unpaid."));
        status
    };
    for (status, expected) in [
        (Value::Null, State::Processing),
        (json!({ "phase": "Active" }), State::Processing),
        (json!({ "conditions": [condition("Ready", "True", "R", "")] }), State::Processing),
        (status("PendingApproval", "EntitlementPendingApproval", false), State::PendingApproval),
        (status("Active", "EntitlementActive", true), State::Active),
        (suspended, State::Suspended),
        (status("Rejected", "EntitlementRejected", false), State::Denied),
        (status("Rejected", "EntitlementRejected", true), State::Revoked),
        (status("Rejected", "ServiceNotPublished", true), State::Unavailable),
        (status("Renamed", "R", false), State::Processing),
    ] {
        let access = Access::from_entitlements(Some(&[entitlement("compute", &status)]));
        assert_eq!(access.state, expected, "{status}");
    }
    assert_eq!(Access::from_entitlements(Some(&[])).state, State::NotRequested);
    assert_eq!(Access::from_entitlements(None).state, State::CatalogUnavailable);
}

#[test]
fn of_several_entitlements_the_one_to_compute_counts() {
    let other = |name: &str| {
        let mut status = status("Active", "EntitlementActive", true);
        status["serviceName"] = "dns.datumapis.com".into();
        entitlement(name, &status)
    };
    let denied = entitlement("compute", &status("Rejected", "EntitlementRejected", false));
    let active = entitlement("compute-datumapis-com", &status("Active", "EntitlementActive", true));
    let young = entitlement("compute", &Value::Null);
    for (list, expected) in [
        (vec![other("dns")], State::NotRequested),
        // By the service's name, whatever the object is called.
        (vec![other("compute")], State::NotRequested),
        (vec![other("dns"), denied.clone()], State::Denied),
        (vec![denied.clone(), active.clone()], State::Active),
        (vec![active, denied], State::Active),
        (vec![young], State::Processing),
        (vec![entitlement("storage", &Value::Null)], State::NotRequested),
    ] {
        assert_eq!(Access::from_entitlements(Some(&list)).state, expected, "{list:?}");
    }
}

fn of(state: State, seconds_ago: Option<i64>, now: Timestamp) -> Access {
    let requested = seconds_ago.map(|seconds| now - jiff::SignedDuration::from_secs(seconds));
    Access { requested, ..Access::without(state) }
}

/// A platform that has stopped answering slows no command down.
#[test]
fn a_command_runs_waits_asks_or_stops() {
    let now = Timestamp::from_second(1_000_000).unwrap();
    for (state, seconds, expected) in [
        (State::CatalogUnavailable, None, Gate::Pass),
        (State::Active, Some(0), Gate::Pass),
        (State::Suspended, Some(0), Gate::Warn),
        (State::NotRequested, None, Gate::Ask),
        (State::Processing, Some(1), Gate::Await),
        (State::Processing, Some(120), Gate::Await),
        (State::Processing, Some(121), Gate::Stop),
        (State::PendingApproval, Some(1), Gate::Stop),
        (State::Denied, Some(1), Gate::Stop),
        (State::Revoked, Some(1), Gate::Stop),
        (State::Unavailable, Some(1), Gate::Stop),
    ] {
        assert_eq!(gate(&of(state, seconds, now), now), expected, "{state} {seconds:?}");
    }
}

/// An existing request is progress, never an error.
#[test]
fn a_request_is_made_renewed_or_stands() {
    let now = Timestamp::from_second(1_000_000).unwrap();
    for (state, plain, renewed) in [
        (State::CatalogUnavailable, Request::Stands, Request::Stands),
        (State::NotRequested, Request::Create, Request::Create),
        (State::Processing, Request::Stands, Request::Stands),
        (State::PendingApproval, Request::Stands, Request::Stands),
        (State::Active, Request::Stands, Request::Stands),
        (State::Suspended, Request::Stands, Request::Stands),
        (State::Denied, Request::Refused, Request::Renew),
        (State::Revoked, Request::Refused, Request::Renew),
        (State::Unavailable, Request::Refused, Request::Refused),
    ] {
        let access = of(state, Some(600), now);
        assert_eq!((request(&access, false), request(&access, true)), (plain, renewed), "{state}");
    }
}

fn service(spec: &Value) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": "services.miloapis.com/v1alpha1", "kind": "Service", "metadata": { "name": "c" }, "spec": spec,
    }))
    .unwrap()
}

#[test]
fn the_catalogue_says_how_compute_is_enabled_and_who_has_to_agree() {
    let spec = |phase: &str, mode: Option<&str>| {
        json!({
            "serviceName": "compute.datumapis.com", "phase": phase, "enablementPolicy": { "mode": mode },
        })
    };
    for (services, mode, asked, unasked) in [
        (
            Some(vec![spec("Published", Some("SelfService"))]),
            Mode::SelfService,
            Consent::Given,
            Consent::Given,
        ),
        (Some(vec![spec("Published", None)]), Mode::SelfService, Consent::Given, Consent::Given),
        (
            Some(vec![spec("Published", Some("GatedByProvider"))]),
            Mode::Gated,
            Consent::Question,
            Consent::Missing,
        ),
        (Some(vec![spec("Draft", None)]), Mode::Unavailable, Consent::Impossible, Consent::Impossible),
        (Some(vec![]), Mode::Unavailable, Consent::Impossible, Consent::Impossible),
        (None, Mode::Unknown, Consent::Question, Consent::Missing),
    ] {
        let services = services.map(|specs| specs.iter().map(service).collect::<Vec<_>>());
        let offer = Offer::from_services(services.as_deref());
        assert_eq!(offer.mode, mode, "{services:?}");
        assert_eq!(
            (consent(&offer, true, true), consent(&offer, false, true)),
            (asked, unasked),
            "{services:?}"
        );
        let read = if mode == Mode::Unavailable { Consent::Impossible } else { Consent::Missing };
        assert_eq!(
            [true, false].map(|can_ask| consent(&offer, can_ask, false)),
            [read, read],
            "{services:?}"
        );
    }
}
