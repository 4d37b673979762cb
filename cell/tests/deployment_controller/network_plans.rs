//! The plan of networks, by example.

use std::slice;
use std::sync::Arc;

use fedhub_cell::domain::network::{NetworkFacts, NetworkPlan, plan};
use fedhub_cell::domain::status::network::{Location, Network};
use fedhub_core::names::UPSTREAM_NAMESPACE;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, bare};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use serde_json::{Value, json};

const UID: &str = "uid-of-web";
/// The name of a binding that takes the place of another one, by network and location.
const SUBSTITUTE: &str = "web-net-0-a2e57f82d326ce3c";
const SUBSTITUTED: &str = "bind web-net-0-a2e57f82d326ce3c, provisioning";

pub fn interfaces(networks: &[Value]) -> Value {
    networks.iter().map(|network| json!({"network": network})).collect()
}

pub fn wd(networks: &[Value]) -> Object {
    let mut wd = bare(Kind::WorkloadDeployment, "ns-a", "web");
    wd.metadata.uid = Some(UID.to_owned());
    let interfaces = interfaces(networks);
    wd.data = json!({"spec": {"cityCode": "DFW", "template": {"spec": {"networkInterfaces": interfaces}}}});
    wd
}

pub fn net(name: &str) -> Value {
    json!({"name": name})
}

pub fn owners() -> Vec<OwnerReference> {
    let uid = UID.to_owned();
    let controller = Some(true);
    vec![OwnerReference { uid, controller, ..OwnerReference::default() }]
}

pub fn object(kind: Kind, space: &str, name: &str, spec: Value, ready: &str, generation: i64) -> Object {
    let mut object = bare(kind, space, name);
    object.metadata.generation = Some(2);
    let ready =
        json!({"type": "Ready", "status": ready, "reason": "Because", "observedGeneration": generation});
    object.data = json!({"spec": spec, "status": {"conditions": [ready]}});
    object
}

/// Ready, of this WD, in that place.
pub fn bound_in(name: &str, network: &Value, place: &str) -> Object {
    let spec = json!({"network": network, "location": {"name": place}});
    let mut binding = object(Kind::NetworkBinding, "ns-a", name, spec, "True", 2);
    let context = format!("{}-{place}", network["name"].as_str().unwrap());
    binding.data["status"]["networkContextRef"] = json!({"namespace": "ns-a", "name": context});
    binding.metadata.owner_references = Some(owners());
    binding
}

fn bound(name: &str, network: &Value) -> Object {
    bound_in(name, network, "dfw-1")
}

pub fn claimed_in(name: &str, context: &str, place: &str) -> Object {
    let spec = json!({
        "subnetClass": "private", "ipFamily": "IPv6", "networkContext": {"name": context}, "location": {"name": place},
    });
    let mut claim = object(Kind::SubnetClaim, "ns-a", name, spec, "True", 2);
    claim.data["status"]["subnetRef"] = json!({"name": name});
    claim
}

fn claimed(name: &str, context: &str) -> Object {
    claimed_in(name, context, "dfw-1")
}

/// An Instance that runs on those networks in that place.
pub fn running(networks: &[Value], place: &str) -> Object {
    let mut instance = bare(Kind::Instance, "ns-a", "web-0");
    instance.metadata.owner_references = Some(owners());
    instance.data = json!({"spec": {"networkInterfaces": interfaces(networks), "location": {"name": place}}});
    instance
}

fn but(mut object: Object, bend: impl FnOnce(&mut Object)) -> Object {
    bend(&mut object);
    object
}

pub fn dying(object: &mut Object) {
    object.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::from_second(1).unwrap()));
}

fn serving() -> Location {
    Location::Serving("dfw-1".to_owned())
}

/// What stands in the cell.
#[derive(Clone, Default)]
pub struct Cell {
    pub instances: Vec<Object>,
    pub bindings: Vec<Object>,
    pub contexts: Vec<Object>,
    pub claims: Vec<Object>,
    pub subnets: Vec<Object>,
}

impl Cell {
    /// With a Ready context for each binding that names one, and a Ready subnet for each claim that does.
    fn new(bindings: &[Object], claims: &[Object]) -> Self {
        let mut cell = Self { bindings: bindings.to_vec(), claims: claims.to_vec(), ..Self::default() };
        for binding in bindings {
            if let Some(name) = binding.status()["networkContextRef"]["name"].as_str() {
                cell.contexts.push(object(Kind::NetworkContext, "ns-a", name, json!({}), "True", 2));
            }
        }
        for claim in claims {
            if let Some(name) = claim.status().pointer("/subnetRef/name").and_then(Value::as_str) {
                cell.subnets.push(object(Kind::Subnet, "ns-a", name, json!({}), "True", 2));
            }
        }
        cell
    }

    pub fn plan(&self, wd: &Object, location: &Location) -> NetworkPlan {
        let shared = |all: &[Object]| all.iter().cloned().map(Arc::new).collect::<Vec<ObjectRef>>();
        plan(&NetworkFacts {
            deployment: wd,
            instances: &shared(&self.instances),
            bindings: &shared(&self.bindings),
            contexts: &shared(&self.contexts),
            claims: &shared(&self.claims),
            subnets: &shared(&self.subnets),
            location,
        })
    }
}

/// A plan in a few words.
fn words(plan: &NetworkPlan) -> String {
    let mut words: Vec<String> = plan.bindings.iter().map(|b| format!("bind {}", b.name())).collect();
    words.extend(plan.claims.iter().map(|claim| {
        let context = claim.spec()["networkContext"]["name"].as_str().unwrap();
        assert_eq!(claim.metadata.owner_references.as_ref().unwrap()[0].name, context);
        format!("claim {}/{} of {context}", claim.namespace(), claim.name())
    }));
    words.extend(plan.replaced.iter().map(|b| format!("replace {}", b.name())));
    words.push(match &plan.network {
        Network::Ready => "ready".to_owned(),
        Network::Provisioning(_) => "provisioning".to_owned(),
        Network::NotFound(_) => "not found".to_owned(),
        Network::Failed(_) => "failed".to_owned(),
        Network::NotCarried(_) => "not carried".to_owned(),
        Network::Misplaced(words) => words.reason.as_str().to_owned(),
    });
    words.join(", ")
}

/// What it shows, the WD, its bindings and the cell's claims, and the plan.
type Case = (&'static str, Object, Vec<Object>, Vec<Object>, &'static str);

#[test]
fn c15_each_interface_has_its_binding_and_each_context_its_subnet() {
    let default = net("default");
    let here = json!({"name": "default", "namespace": "ns-a"});
    let there = json!({"name": "default", "namespace": "ns-b"});
    // The own namespace has one name in the cell and another one in the project, where the user writes it.
    for own in
        [json!({"name": "default", "namespace": "ns-a"}), json!({"name": "default", "namespace": "shop"})]
    {
        let mut wd = wd(slice::from_ref(&own));
        wd.metadata.labels = Some([(UPSTREAM_NAMESPACE.to_owned(), "shop".to_owned())].into());
        let plan = Cell::default().plan(&wd, &serving());
        assert_eq!(plan.bindings[0].spec()["network"], net("default"), "{own}");
        let cell = Cell::new(&[bound("web-net-0", &net("default"))], &[claimed("x", "default-dfw-1")]);
        let plan = cell.plan(&wd, &serving());
        assert_eq!((&plan.network, plan.bindings.len()), (&Network::Ready, 0), "{own}");
        assert!(plan.serves(&running(&[own], "dfw-1"), "dfw-1"));
    }
    let unset = json!({"name": "default", "namespace": ""});
    let b = |name: &str| bound(name, &net("default"));
    let b0 = || b("web-net-0");
    let c = |name: &str| claimed(name, "default-dfw-1");
    let claim = "claim ns-a/default-dfw-1-0 of default-dfw-1, provisioning";
    let foreign = but(b0(), |b| b.metadata.owner_references = None);
    let unready = but(b0(), |b| b.data["status"]["conditions"][0]["status"] = json!("False"));
    let older = but(b0(), |b| b.data["status"]["conditions"][0]["observedGeneration"] = json!(1));
    let bare_status = but(b0(), |b| b.data["status"]["networkContextRef"] = Value::Null);
    let moved = but(b0(), |b| b.data["spec"]["location"]["name"] = json!("dfw-2"));
    let class = but(c("default-dfw-1-0"), |c| c.data["spec"]["subnetClass"] = json!("public"));
    let family = but(c("x"), |c| c.data["spec"]["ipFamily"] = json!("IPv4"));
    let other = claimed("x", "other-dfw-1");
    let waiting = but(c("x"), |c| c.data["status"] = Value::Null);
    let nameless = but(c("x"), |c| c.data["status"]["subnetRef"] = Value::Null);
    let stale_claim = but(c("x"), |c| c.data["status"]["conditions"][0]["observedGeneration"] = json!(1));
    let going = |o: Object| but(o, dying);
    let one = || wd(std::slice::from_ref(&default));
    let both = || wd(&[default.clone(), here.clone()]);
    let table: Vec<Case> = vec![
        ("no networks", wd(&[]), vec![], vec![], "ready"),
        ("a name that is none", wd(&[json!({"name": ""}), Value::Null]), vec![], vec![], "ready"),
        ("one", one(), vec![], vec![], "bind web-net-0, provisioning"),
        ("by its index", wd(&[Value::Null, net("a")]), vec![], vec![], "bind web-net-1, provisioning"),
        ("twice the same", both(), vec![], vec![], "bind web-net-0, bind web-net-1, provisioning"),
        ("one subnet for both", both(), vec![b0(), b("web-net-1")], vec![], claim),
        ("and for both", both(), vec![b0(), b("web-net-1")], vec![c("x")], "ready"),
        ("two", wd(&[default.clone(), net("b")]), vec![b0()], vec![c("x")], "bind web-net-1, provisioning"),
        ("said otherwise", wd(std::slice::from_ref(&here)), vec![b0()], vec![c("x")], "ready"),
        ("I6: another's", wd(slice::from_ref(&there)), vec![], vec![], "not found"),
        (
            "I6: also where one was bound",
            wd(slice::from_ref(&there)),
            vec![bound("web-net-0", &there)],
            vec![],
            "not found",
        ),
        ("I6: beside one's own", wd(&[default.clone(), there]), vec![], vec![], "bind web-net-0, not found"),
        ("an empty namespace", wd(&[unset]), vec![b0()], vec![c("x")], "ready"),
        ("a name taken", one(), vec![foreign.clone()], vec![], SUBSTITUTED),
        ("for good", one(), vec![foreign.clone(), b(SUBSTITUTE)], vec![c("x")], "ready"),
        (
            "and the other one is going",
            one(),
            vec![foreign, going(b(SUBSTITUTE))],
            vec![],
            "bind web-net-1-a2e57f82d326ce3c, provisioning",
        ),
        ("refused", one(), vec![unready.clone()], vec![], "failed"),
        (
            "refused, and another is not",
            one(),
            vec![unready, b("n")],
            vec![c("x")],
            "replace web-net-0, ready",
        ),
        ("C6: Ready for what it was", one(), vec![older], vec![], "provisioning"),
        ("no context yet", one(), vec![bare_status], vec![], "provisioning"),
        ("on its way out", one(), vec![going(b0())], vec![], SUBSTITUTED),
        ("another location", one(), vec![moved], vec![], SUBSTITUTED),
        ("no subnet", one(), vec![b0()], vec![], claim),
        (
            "another class",
            one(),
            vec![b0()],
            vec![class],
            "claim ns-a/default-dfw-1-1 of default-dfw-1, provisioning",
        ),
        ("another family", one(), vec![b0()], vec![family], claim),
        ("another context", one(), vec![b0()], vec![other], claim),
        ("a claim on its way out", one(), vec![b0()], vec![going(c("x"))], claim),
        ("a subnet that waits", one(), vec![b0()], vec![waiting], "provisioning"),
        ("a subnet without a name", one(), vec![b0()], vec![nameless], "provisioning"),
        ("C6: a subnet for what it was", one(), vec![b0()], vec![stale_claim], "provisioning"),
        ("all there", one(), vec![b0()], vec![c("x")], "ready"),
        ("of an earlier version", one(), vec![b("n")], vec![c("x")], "ready"),
        (
            "its move under way",
            one(),
            vec![b("web-net-0-0"), b0()],
            vec![c("x")],
            "replace web-net-0-0, ready",
        ),
        ("two interfaces, and bindings by number", both(), vec![b("n"), b("m")], vec![c("x")], "ready"),
        ("a second interface", both(), vec![b("n")], vec![c("x")], "bind web-net-1, provisioning"),
        ("one too many", one(), vec![b("b"), b("a")], vec![c("x")], "replace b, ready"),
        ("not needed", wd(&[]), vec![b("a")], vec![], "replace a, ready"),
    ];
    for (what, wd, bindings, claims, want) in table {
        assert_eq!(words(&Cell::new(&bindings, &claims).plan(&wd, &serving())), want, "{what}");
    }
}

/// No template can have the cell request a network of another namespace, which may be that of another tenant.
#[test]
fn i6_a_network_of_another_namespace_is_never_asked_for() {
    let there = json!({"name": "default", "namespace": "ns-b"});
    let plan =
        Cell::new(&[], &[claimed("x", "default-dfw-1")]).plan(&wd(slice::from_ref(&there)), &serving());
    assert_eq!((plan.bindings.len(), plan.claims.len()), (0, 0));
    let blocker = plan.network.blocker().unwrap();
    assert_eq!(
        (blocker.reason.as_str(), blocker.message.as_str()),
        (
            "NetworkNotFound",
            "Network \"default\": its namespace \"ns-b\" is another one than the deployment's: leave it out"
        )
    );
    // Nor does an Instance run on it, which is to say that its gate stays.
    assert!(!plan.serves(&running(&[there], "dfw-1"), "dfw-1"));
    let unset = json!({"name": "default", "namespace": ""});
    let plan = Cell::default().plan(&wd(&[unset]), &serving());
    assert_eq!(plan.bindings[0].spec()["network"], net("default"));
}

/// What is made of a cell in which all is ready.
type Bend<'a> = &'a dyn Fn(&mut Cell);

#[test]
fn c15_context_and_subnet_have_to_be_ready() {
    let wd = wd(&[net("default")]);
    let cell = Cell::new(&[bound("web-net-0", &net("default"))], &[claimed("x", "default-dfw-1")]);
    let say = |object: &mut Object, field: &str, value: Value| {
        object.data["status"]["conditions"][0][field] = value;
    };
    let table: &[(&str, Bend<'_>, &str)] = &[
        ("all there", &|_| {}, "ready"),
        ("no context", &|c| c.contexts.clear(), "provisioning"),
        (
            "its namesake elsewhere",
            &|c| c.contexts[0].metadata.namespace = Some("x".to_owned()),
            "provisioning",
        ),
        ("a context that is going", &|c| dying(&mut c.contexts[0]), "provisioning"),
        ("a context that fails", &|c| say(&mut c.contexts[0], "status", json!("False")), "failed"),
        ("C6: a context", &|c| say(&mut c.contexts[0], "observedGeneration", json!(1)), "provisioning"),
        ("no subnet", &|c| c.subnets.clear(), "provisioning"),
        ("a subnet that is going", &|c| dying(&mut c.subnets[0]), "provisioning"),
        ("a subnet that fails", &|c| say(&mut c.subnets[0], "status", json!("False")), "failed"),
        ("C6: a subnet", &|c| say(&mut c.subnets[0], "observedGeneration", json!(1)), "provisioning"),
        ("carried", &|c| c.contexts[0].data["spec"]["ipFamilies"] = json!(["IPv4", "IPv6"]), "ready"),
        ("not carried", &|c| c.contexts[0].data["spec"]["ipFamilies"] = json!(["IPv4"]), "not carried"),
        (
            "and its claim says so",
            &|c| {
                say(&mut c.claims[0], "status", json!("False"));
                say(&mut c.claims[0], "reason", json!("AddressFamilyNotCarried"));
            },
            "not carried",
        ),
    ];
    for (what, bend, want) in table {
        let mut cell = cell.clone();
        bend(&mut cell);
        assert_eq!(words(&cell.plan(&wd, &serving())), *want, "{what}");
    }
}

#[test]
fn c15_what_runs_keeps_its_binding() {
    let default = net("default");
    let other = net("other");
    let old = |name: &str| bound_in(name, &default, "dfw-0");
    let new = || bound(SUBSTITUTE, &default);
    let claims = [claimed("x", "default-dfw-1"), claimed_in("y", "default-dfw-0", "dfw-0")];
    let on = |network: &Value, place: &str| running(std::slice::from_ref(network), place);
    let gated = but(on(&default, "dfw-0"), |i| {
        i.data["spec"]["controller"] = json!({"schedulingGates": [{"name": "Network"}]});
    });
    let placeless = but(on(&default, ""), |i| i.data["spec"]["location"] = Value::Null);
    let replaced = "replace web-net-0, ready";
    for (what, bindings, instance, want) in [
        ("it runs on the old one", vec![old("web-net-0"), new()], on(&default, "dfw-0"), "ready"),
        (
            "also where it is leaving",
            vec![old("web-net-0"), new()],
            but(on(&default, "dfw-0"), dying),
            "ready",
        ),
        ("or does not know where", vec![old("web-net-0"), new()], placeless, "ready"),
        ("it runs on the new one", vec![old("web-net-0"), new()], on(&default, "dfw-1"), replaced),
        ("it runs on another", vec![old("web-net-0"), new()], on(&other, "dfw-0"), replaced),
        ("it does not run", vec![old("web-net-0"), new()], gated, replaced),
        ("for good", vec![new()], on(&default, "dfw-1"), "ready"),
    ] {
        let cell = Cell { instances: vec![instance], ..Cell::new(&bindings, &claims) };
        assert_eq!(words(&cell.plan(&wd(std::slice::from_ref(&default)), &serving())), want, "{what}");
    }
    // Nothing goes before all that is wanted is ready, whether it is needed or not.
    let cell = Cell::new(&[old("web-net-0"), new()], &claims[1..]);
    let plan = cell.plan(&wd(&[default]), &serving());
    assert_eq!(words(&plan), "claim ns-a/default-dfw-1-0 of default-dfw-1, provisioning");
}

#[test]
fn a_location_in_doubt_asks_for_nothing_and_a_missing_one_takes_nothing_back() {
    let default = [net("default")];
    let elsewhere = Location::Elsewhere { name: "ord-1".to_owned(), city: "ORD".to_owned() };
    let several = Location::Ambiguous(vec!["a".to_owned(), "b".to_owned()]);
    let cell = Cell::new(&[bound("web-net-0", &default[0])], &[claimed("x", "default-dfw-1")]);
    for (location, reason) in [(&elsewhere, "CityCodeMismatch"), (&several, "AmbiguousServingLocation")] {
        for wd in [wd(&default), wd(&[])] {
            assert_eq!(words(&cell.plan(&wd, location)), reason);
        }
    }
    let empty = Cell::default();
    assert_eq!(words(&empty.plan(&wd(&default), &Location::Missing)), "NoMatchingLocation");
    assert_eq!(words(&cell.plan(&wd(&default), &Location::Missing)), "ready");
    let known = but(wd(&default), |wd| wd.data["status"] = json!({"location": {"name": "dfw-1"}}));
    assert_eq!(words(&empty.plan(&known, &Location::Missing)), "bind web-net-0, provisioning");
}
