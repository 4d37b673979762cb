//! The plan of networks, by example.

use std::sync::Arc;

use fedhub_cell::network::{Plan, Seen, plan};
use fedhub_cell::status::network::{Location, Network};
use fedhub_shared::object::{Kind, Object, ObjectView, Shared, bare};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

const UID: &str = "uid-of-web";

fn wd(networks: &[Value]) -> Object {
    let mut wd = bare(Kind::WorkloadDeployment, "ns-a", "web");
    wd.metadata.uid = Some(UID.to_owned());
    let interfaces: Vec<_> = networks.iter().map(|network| json!({"network": network})).collect();
    wd.data = json!({"spec": {"cityCode": "DFW", "template": {"spec": {"networkInterfaces": interfaces}}}});
    wd
}

fn net(name: &str) -> Value {
    json!({"name": name})
}

fn object(kind: Kind, space: &str, name: &str, spec: Value, ready: &str, generation: i64) -> Object {
    let mut object = bare(kind, space, name);
    object.metadata.generation = Some(2);
    let ready =
        json!({"type": "Ready", "status": ready, "reason": "Because", "observedGeneration": generation});
    object.data = json!({"spec": spec, "status": {"conditions": [ready]}});
    object
}

/// Ready, of this WD, in dfw-1.
fn bound(name: &str, network: &Value) -> Object {
    let spec = json!({"network": network, "location": {"name": "dfw-1"}});
    let mut binding = object(Kind::NetworkBinding, "ns-a", name, spec, "True", 2);
    let context = format!("{}-ctx", network["name"].as_str().unwrap());
    binding.data["status"]["networkContextRef"] = json!({"namespace": "ns-a", "name": context});
    let (uid, controller) = (UID.to_owned(), Some(true));
    binding.metadata.owner_references =
        Some(vec![OwnerReference { uid, controller, ..OwnerReference::default() }]);
    binding
}

fn claimed(name: &str, context: &str) -> Object {
    let spec = json!({
        "subnetClass": "private", "ipFamily": "IPv4", "networkContext": {"name": context}, "location": {"name": "dfw-1"},
    });
    object(Kind::SubnetClaim, "ns-a", name, spec, "True", 2)
}

fn but(mut object: Object, bend: impl FnOnce(&mut Object)) -> Object {
    bend(&mut object);
    object
}

fn dying(object: &mut Object) {
    object.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::from_second(1).unwrap()));
}

fn serving() -> Location {
    Location::Serving("dfw-1".to_owned())
}

fn planned(wd: &Object, bindings: &[Object], claims: &[Object], location: &Location) -> Plan {
    let shared = |all: &[Object]| all.iter().cloned().map(Arc::new).collect::<Vec<Shared>>();
    plan(&Seen { deployment: wd, bindings: &shared(bindings), claims: &shared(claims), location })
}

/// A plan in a few words.
fn words(plan: &Plan) -> String {
    let mut words: Vec<String> = plan.bindings.iter().map(|b| format!("bind {}", b.called())).collect();
    words.extend(
        plan.claims
            .iter()
            .map(|c| format!("claim {}/{} of {}", c.object.space(), c.object.called(), c.context)),
    );
    words.extend(plan.stale.iter().map(|b| format!("stale {}", b.called())));
    words.push(match &plan.network {
        Network::Ready => "ready".to_owned(),
        Network::Provisioning(_) => "provisioning".to_owned(),
        Network::NotFound(_) => "not found".to_owned(),
        Network::Failed(_) => "failed".to_owned(),
    });
    words.join(", ")
}

/// What it shows, the WD, its bindings and the cell's claims, and the plan.
type Case = (&'static str, Object, Vec<Object>, Vec<Object>, &'static str);

#[test]
fn each_network_is_bound_once_and_each_context_has_a_subnet() {
    let default = net("default");
    let here = json!({"name": "default", "namespace": "ns-a"});
    let there = json!({"name": "default", "namespace": "ns-b"});
    let b = |name: &str| bound(name, &net("default"));
    let c = |name: &str| claimed(name, "default-ctx");
    let foreign = but(b("web-net-0"), |b| b.metadata.owner_references = None);
    let unready = but(b("web-net-0"), |b| b.data["status"]["conditions"][0]["status"] = json!("False"));
    let older = but(b("web-net-0"), |b| b.data["status"]["conditions"][0]["observedGeneration"] = json!(1));
    let bare_status = but(b("web-net-0"), |b| b.data["status"]["networkContextRef"] = Value::Null);
    let moved = but(b("web-net-0"), |b| b.data["spec"]["location"]["name"] = json!("dfw-2"));
    let class = but(c("default-ctx-0"), |c| c.data["spec"]["subnetClass"] = json!("public"));
    let family = but(c("x"), |c| c.data["spec"]["ipFamily"] = json!("IPv6"));
    let other = claimed("x", "other-ctx");
    let waiting = but(c("x"), |c| c.data["status"] = Value::Null);
    let stale_claim = but(c("x"), |c| c.data["status"]["conditions"][0]["observedGeneration"] = json!(1));
    let going = |o: Object| but(o, dying);
    let one = || wd(std::slice::from_ref(&default));
    let table: Vec<Case> = vec![
        ("no networks", wd(&[]), vec![], vec![], "ready"),
        ("a name that is none", wd(&[json!({"name": ""}), Value::Null]), vec![], vec![], "ready"),
        ("one", one(), vec![], vec![], "bind web-net-0, provisioning"),
        (
            "twice the same",
            wd(&[default.clone(), here.clone()]),
            vec![],
            vec![],
            "bind web-net-0, provisioning",
        ),
        (
            "two",
            wd(&[default.clone(), there]),
            vec![],
            vec![],
            "bind web-net-0, bind web-net-1, provisioning",
        ),
        ("said otherwise", wd(&[here]), vec![b("web-net-0")], vec![c("x")], "ready"),
        ("a name taken", one(), vec![foreign], vec![], "bind web-net-1, provisioning"),
        ("refused", one(), vec![unready], vec![], "failed"),
        ("C6: Ready for what it was", one(), vec![older], vec![], "provisioning"),
        ("no context yet", one(), vec![bare_status], vec![], "provisioning"),
        ("on its way out", one(), vec![going(b("web-net-0"))], vec![], "bind web-net-1, provisioning"),
        ("another location", one(), vec![moved], vec![], "bind web-net-1, stale web-net-0, provisioning"),
        (
            "no subnet",
            one(),
            vec![b("web-net-0")],
            vec![],
            "claim ns-a/default-ctx-0 of default-ctx, provisioning",
        ),
        (
            "another class",
            one(),
            vec![b("n")],
            vec![class],
            "claim ns-a/default-ctx-1 of default-ctx, provisioning",
        ),
        (
            "another family",
            one(),
            vec![b("n")],
            vec![family],
            "claim ns-a/default-ctx-0 of default-ctx, provisioning",
        ),
        (
            "another context",
            one(),
            vec![b("n")],
            vec![other],
            "claim ns-a/default-ctx-0 of default-ctx, provisioning",
        ),
        (
            "on its way out",
            one(),
            vec![b("n")],
            vec![going(c("x"))],
            "claim ns-a/default-ctx-0 of default-ctx, provisioning",
        ),
        ("a subnet that waits", one(), vec![b("n")], vec![waiting], "provisioning"),
        ("C6: a subnet for what it was", one(), vec![b("n")], vec![stale_claim], "provisioning"),
        ("all there", one(), vec![b("n")], vec![c("x")], "ready"),
        ("one too many", one(), vec![b("a"), b("b")], vec![c("x")], "stale b, ready"),
        ("not needed", wd(&[]), vec![b("a")], vec![], "stale a, ready"),
    ];
    for (what, wd, bindings, claims, want) in table {
        assert_eq!(words(&planned(&wd, &bindings, &claims, &serving())), want, "{what}");
    }
}

#[test]
fn a_location_in_doubt_asks_for_nothing_and_a_missing_one_takes_nothing_back() {
    let default = [net("default")];
    let elsewhere = Location::Elsewhere { name: "ord-1".to_owned(), city: "ORD".to_owned() };
    let several = Location::Ambiguous(vec!["a".to_owned(), "b".to_owned()]);
    let (bindings, claims) = ([bound("n", &default[0])], [claimed("x", "default-ctx")]);
    for location in [&elsewhere, &several] {
        for wd in [wd(&default), wd(&[])] {
            assert_eq!(words(&planned(&wd, &bindings, &claims, location)), "provisioning", "{location:?}");
        }
    }
    assert_eq!(words(&planned(&wd(&default), &[], &[], &Location::Missing)), "provisioning");
    assert_eq!(words(&planned(&wd(&default), &bindings, &claims, &Location::Missing)), "ready");
    let known = but(wd(&default), |wd| wd.data["status"] = json!({"location": {"name": "dfw-1"}}));
    assert_eq!(words(&planned(&known, &[], &[], &Location::Missing)), "bind web-net-0, provisioning");
}

proptest! {
    /// Whatever the networks are and in whatever order they are asked for: performed, the plan asks for nothing more.
    #[test]
    fn i7_what_was_asked_for_is_not_asked_for_again(
        first in prop::collection::vec("[a-c]", 0..4), then in prop::collection::vec("[a-c]", 0..4),
    ) {
        let (mut bindings, mut claims): (Vec<Object>, Vec<Object>) = Default::default();
        for networks in [first, then] {
            let wd = wd(&networks.iter().map(|n| net(n)).collect::<Vec<_>>());
            for _ in 0..3 {
                let plan = planned(&wd, &bindings, &claims, &serving());
                for made in plan.bindings {
                    prop_assert!(bindings.iter().all(|b| b.called() != made.called()));
                    bindings.push(bound(made.called(), &made.spec()["network"]));
                }
                for made in plan.claims {
                    prop_assert!(claims.iter().all(|c| c.called() != made.object.called()));
                    claims.push(claimed(made.object.called(), &made.context));
                }
            }
            let plan = planned(&wd, &bindings, &claims, &serving());
            prop_assert!(plan.bindings.is_empty() && plan.claims.is_empty());
            prop_assert_eq!(plan.network, Network::Ready);
            bindings.retain(|b| !plan.stale.iter().any(|s| s.called() == b.called()));
            let mut distinct = networks.clone();
            distinct.sort();
            distinct.dedup();
            prop_assert_eq!(bindings.len(), distinct.len());
        }
    }
}
