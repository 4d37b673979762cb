use fedhub_api::reason::{Reason, Responsible};
use fedhub_cell::domain::status::network::{Location, Network};
use fedhub_core::object::{Kind, Object};
use serde_json::json;

use super::support::*;

#[test]
fn what_the_network_service_says_is_one_of_four() {
    let ready = |status: &str, reason: &str, message: &str| {
        but(object(Kind::Instance, "b"), |o| {
            o.data = json!({"status": {"conditions": [condition("Ready", status, reason, message)]}});
        })
    };
    let said = |o: Option<&Object>| Network::from_object("Network \"x\"", o);
    let words = |w: &str| format!("Network \"x\": {w}");
    assert_eq!(said(Some(&ready("True", "Ready", ""))), Network::Ready);
    assert_eq!(
        said(Some(&ready("Unknown", "Pending", "Waiting for controller"))),
        Network::Provisioning(words("Pending: Waiting for controller"))
    );
    for reason in ["Pending", "NetworkContextNotReady", "NotProgrammed", "ProgrammingInProgress"] {
        assert_eq!(said(Some(&ready("False", reason, ""))), Network::Provisioning(words(reason)));
    }
    assert_eq!(
        said(Some(&ready("False", "NetworkNotFound", "no x"))),
        Network::NotFound(words("NetworkNotFound: no x"))
    );
    for reason in ["LocationNotAvailable", "ProjectUnresolved", "Odd"] {
        assert_eq!(said(Some(&ready("False", reason, "w"))), Network::Failed(words(&format!("{reason}: w"))));
    }
    let going = but(ready("True", "Ready", ""), dying);
    for absent in [None, Some(&object(Kind::Instance, "b")), Some(&going)] {
        assert!(matches!(said(absent), Network::Provisioning(_)));
    }
}

#[test]
fn the_worst_of_several_is_said() {
    let a = Network::Provisioning("a".to_owned());
    let b = Network::Provisioning("b".to_owned());
    let lost = Network::NotFound("c".to_owned());
    let failed = Network::Failed("d".to_owned());
    assert_eq!(Network::worst([]), Network::Ready);
    assert_eq!(Network::worst([Network::Ready, a.clone(), b.clone()]), a);
    assert_eq!(Network::worst([failed.clone(), a, lost, b]), failed);
}

#[test]
fn a_cell_serves_a_city_with_exactly_one_location() {
    let binding = |name: &str, location: Option<&str>, city: &str| {
        but(object(Kind::Cluster, name), |o| {
            o.data = json!({"spec": {"topology": {"topology.datum.net/city-code": city}}});
            if let Some(location) = location {
                o.data["spec"]["locationRef"] = json!({"name": location});
            }
        })
    };
    let a = binding("a", Some("dfw-1"), "DFW");
    let b = binding("b", None, "ORD");
    let going = but(binding("c", None, "DFW"), dying);
    assert_eq!(Location::from_bindings("DFW", []), Location::Missing);
    assert_eq!(Location::from_bindings("DFW", [&a, &going]), Location::Serving("dfw-1".to_owned()));
    assert_eq!(
        Location::from_bindings("DFW", [&b]),
        Location::Elsewhere { name: "b".to_owned(), city: "ORD".to_owned() }
    );
    let both = Location::Ambiguous(vec!["b".to_owned(), "dfw-1".to_owned()]);
    assert_eq!(
        (Location::from_bindings("DFW", [&a, &b]), Location::from_bindings("DFW", [&b, &a])),
        (both.clone(), both.clone())
    );
    assert!(!both.allows() && !Location::from_bindings("DFW", [&b]).allows());
    assert!(Location::Missing.allows() && Location::Unasked.allows());
}

#[test]
fn c9_c15_what_blocks_says_whose_job_it_is() {
    let words = || "w".to_owned();
    for (network, reason, whose) in [
        (Network::Provisioning(words()), "NetworkProvisioning", Responsible::Nobody),
        (Network::NotFound(words()), "NetworkNotFound", Responsible::User),
        (Network::NotCarried(words()), "AddressFamilyNotCarried", Responsible::User),
        (Network::Failed(words()), "NetworkFailedToCreate", Responsible::Operator),
    ] {
        let blocker = network.blocker().unwrap();
        assert_eq!((blocker.reason.as_str(), &*blocker.message), (reason, "w"));
        assert_eq!(Reason::parse(reason).map(Reason::responsible), Some(whose), "{reason}");
    }
    for location in [
        Location::Missing,
        Location::Ambiguous(vec!["a".to_owned(), "b".to_owned()]),
        Location::Elsewhere { name: "ord-1".to_owned(), city: "ORD".to_owned() },
    ] {
        let blocker = location.blocker("DFW").unwrap();
        assert_eq!(
            blocker.reason.known().map(Reason::responsible),
            Some(Responsible::Operator),
            "{blocker:?}"
        );
        assert_eq!(Network::Misplaced(blocker.clone()).blocker(), Some(blocker), "an Instance says so, too");
    }
    assert_eq!((Network::Ready.blocker(), Location::Unasked.blocker("DFW")), (None, None));
}
