//! Conditions about networks and locations.

use std::slice;
use std::sync::Arc;

use fedhub_cell::domain::network::{NetworkFacts, plan};
use fedhub_cell::domain::status::network::{Location, Network};
use fedhub_core::object::{Kind, Object, ObjectRef};
use fedhub_testing::one_of_each;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::json;

use super::{Shown, of_update};
use crate::domain::status::support::{but, condition, object, wd};

/// An object that reports `Ready` so, and what else its status holds.
fn reporting(kind: Kind, name: &str, status: &str, reason: &str) -> Object {
    let ready = condition("Ready", status, reason, "");
    but(object(kind, name), |o| o.data = json!({"spec": {}, "status": {"conditions": [ready]}}))
}

/// The stages of a network, from nothing to its subnet.
pub fn stages() -> Vec<Shown> {
    let network = json!({"name": "default"});
    let wd = but(wd(), |wd| {
        wd.data["spec"]["template"] =
            json!({"spec": {"networkInterfaces": [{"name": "eth0", "network": network}]}});
    });
    let of = |location: &Location, bindings: &[Object], contexts: &[Object], claims: &[Object]| {
        let [bindings, contexts, claims] = [bindings, contexts, claims]
            .map(|objects| objects.iter().cloned().map(Arc::new).collect::<Vec<ObjectRef>>());
        let bindings = &bindings[..];
        let contexts = &contexts[..];
        let claims = &claims[..];
        let instances = &[][..];
        let subnets = &[][..];
        let facts =
            NetworkFacts { deployment: &wd, instances, bindings, contexts, claims, subnets, location };
        of_update(&plan(&facts).network.blocker().unwrap())
    };
    let serving = Location::Serving("dfw-1".to_owned());
    let binding = |status: &str, reason: &str| {
        but(reporting(Kind::NetworkBinding, "wd-net-0", status, reason), |o| {
            o.data["spec"] = json!({"network": network, "location": {"name": "dfw-1"}});
            let uid = "uid-of-wd".to_owned();
            let controller = Some(true);
            o.metadata.owner_references =
                Some(vec![OwnerReference { uid, controller, ..OwnerReference::default() }]);
        })
    };
    let silent = but(binding("True", "Ready"), |o| o.data["status"] = json!({}));
    let stale = but(binding("True", "Ready"), |o| {
        o.data["status"]["conditions"][0]["observedGeneration"] = json!(2);
    });
    let bound = but(binding("True", "Ready"), |o| {
        o.data["status"]["networkContextRef"] = json!({"namespace": "ns-a", "name": "c"});
    });
    let context = |family: &str| {
        but(reporting(Kind::NetworkContext, "c", "True", "Ready"), |o| {
            o.data["spec"] = json!({"ipFamilies": [family]});
        })
    };
    let claim = but(reporting(Kind::SubnetClaim, "c-0", "True", "Ready"), |o| {
        let context = json!({"name": "c"});
        let location = json!({"name": "dfw-1"});
        o.data["spec"] = json!({
            "subnetClass": "private", "ipFamily": "IPv6", "networkContext": context, "location": location,
        });
    });
    let named = but(claim.clone(), |o| o.data["status"]["subnetRef"] = json!({"name": "s"}));
    vec![
        of(&Location::Unasked, &[], &[], &[]),
        of(&serving, &[], &[], &[]),
        of(&serving, &[silent], &[], &[]),
        of(&serving, &[stale], &[], &[]),
        of(&serving, &[binding("False", "ProgrammingInProgress")], &[], &[]),
        of(&serving, &[binding("False", "NetworkNotFound")], &[], &[]),
        of(&serving, &[binding("False", "RoutesRefused")], &[], &[]),
        of(&serving, &[binding("True", "Ready")], &[], &[]),
        of(&serving, slice::from_ref(&bound), &[], &[]),
        of(&serving, slice::from_ref(&bound), &[context("IPv4")], &[]),
        of(&serving, slice::from_ref(&bound), &[context("IPv6")], &[]),
        of(&serving, slice::from_ref(&bound), &[context("IPv6")], &[claim]),
        of(&serving, &[bound], &[context("IPv6")], &[named]),
    ]
}

pub fn blockers() -> Vec<Shown> {
    let text = || "Network \"default\": Some detail".to_owned();
    let misplaced = Location::Missing.blocker("DFW").unwrap();
    let networks = one_of_each![
        Network::Ready => Network::Ready,
        Network::Provisioning(_) => Network::Provisioning(text()),
        Network::NotFound(_) => Network::NotFound(text()),
        Network::Failed(_) => Network::Failed(text()),
        Network::NotCarried(_) => Network::NotCarried(text()),
        Network::Misplaced(_) => Network::Misplaced(misplaced),
    ];
    let locations = one_of_each![
        Location::Unasked => Location::Unasked,
        Location::Serving(_) => Location::Serving("dfw-1".to_owned()),
        Location::Missing => Location::Missing,
        Location::Ambiguous(_) => Location::Ambiguous(vec!["dfw-1".to_owned(), "dfw-2".to_owned()]),
        Location::Elsewhere { .. } => Location::Elsewhere { name: "ord-1".to_owned(), city: "ORD".to_owned() },
    ];
    let networks = networks.iter().filter_map(Network::blocker);
    networks.chain(locations.iter().filter_map(|it| it.blocker("DFW"))).map(|it| of_update(&it)).collect()
}
