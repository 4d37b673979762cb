//! The plan of networks over whatever may happen in a cell (C15).

use fedhub_cell::domain::status::network::{Location, Network};
use fedhub_core::object::{Kind, Object, ObjectView};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::deployment_controller::network_plans::*;

/// What happens in a cell.
#[derive(Clone, Debug)]
enum Transition {
    /// The template asks for these networks.
    Template(Vec<String>),
    /// The cell serves another location.
    Location(u8),
    /// The network service brings a binding up, with all that comes behind it.
    Served(usize),
    /// What is on its way out is gone.
    Gone,
    /// An outdated Instance is replaced.
    Rolled,
    /// One more is made.
    Made,
}

fn turns() -> impl Strategy<Value = Vec<Transition>> {
    let turn = prop_oneof![
        2 => prop::collection::vec("[ab]", 0..3).prop_map(Transition::Template),
        2 => (0..3_u8).prop_map(Transition::Location),
        6 => (0..6_usize).prop_map(Transition::Served),
        2 => Just(Transition::Gone),
        2 => Just(Transition::Rolled),
        1 => Just(Transition::Made),
    ];
    prop::collection::vec(turn, 1..40)
}

/// A cell over which the controller's passes go.
struct Story {
    cell: Cell,
    networks: Vec<Value>,
    location: String,
    /// What is deleted stays until it is gone.
    held: bool,
}

impl Story {
    fn wd(&self) -> Object {
        wd(&self.networks)
    }

    fn is_gated(instance: &Object) -> bool {
        !instance.spec()["controller"]["schedulingGates"].is_null()
    }

    fn is_current(&self, instance: &Object) -> bool {
        instance.spec()["networkInterfaces"] == interfaces(&self.networks)
    }

    fn make(&mut self) {
        let ready = self.cell.plan(&self.wd(), &self.serving()).network == Network::Ready;
        let mut instance = running(&self.networks, &self.location);
        if !ready {
            instance.data["spec"]["controller"] = json!({"schedulingGates": [{"name": "Network"}]});
        }
        self.cell.instances.push(instance);
    }

    fn serving(&self) -> Location {
        Location::Serving(self.location.clone())
    }

    fn is_served(binding: &Object) -> bool {
        binding.status()["conditions"][0]["status"] == "True"
    }

    fn serve(&mut self, at: usize) {
        let waiting: Vec<usize> =
            (0..self.cell.bindings.len()).filter(|at| !Self::is_served(&self.cell.bindings[*at])).collect();
        let Some(at) = waiting.get(at % waiting.len().max(1)) else { return };
        let binding = &mut self.cell.bindings[*at];
        let network = binding.spec()["network"].clone();
        let place = binding.spec()["location"]["name"].as_str().unwrap().to_owned();
        let deletion = binding.metadata.deletion_timestamp.clone();
        *binding = bound_in(binding.name(), &network, &place);
        binding.metadata.deletion_timestamp = deletion;
        let context = format!("{}-{place}", network["name"].as_str().unwrap());
        if self.cell.contexts.iter().all(|c| c.name() != context) {
            let name = format!("{context}-0");
            self.cell.contexts.push(object(Kind::NetworkContext, "ns-a", &context, json!({}), "True", 2));
            self.cell.claims.push(claimed_in(&name, &context, &place));
            self.cell.subnets.push(object(Kind::Subnet, "ns-a", &name, json!({}), "True", 2));
        }
    }

    /// Says whether anything was done.
    fn pass(&mut self) -> bool {
        let plan = self.cell.plan(&self.wd(), &self.serving());
        let mut stepped = !plan.bindings.is_empty() || !plan.replaced.is_empty();
        for mut made in plan.bindings.clone() {
            assert!(self.cell.bindings.iter().all(|b| b.name() != made.name()), "{}", made.name());
            made.metadata.owner_references = Some(owners());
            self.cell.bindings.push(made);
        }
        let current: Vec<bool> = self.cell.instances.iter().map(|i| self.is_current(i)).collect();
        for (instance, current) in self.cell.instances.iter_mut().zip(current) {
            let is_updated = instance.spec()["location"]["name"] == self.location;
            if !is_updated && plan.serves(instance, &self.location) {
                instance.data["spec"]["location"]["name"] = json!(self.location);
                stepped = true;
            }
            if Self::is_gated(instance) && current && plan.network == Network::Ready {
                assert_eq!(instance.spec()["location"]["name"], json!(self.location));
                instance.data["spec"]["controller"] = json!({});
                stepped = true;
            }
        }
        for gone in &plan.replaced {
            let at = self.cell.bindings.iter().position(|b| b.name() == gone.name()).unwrap();
            if self.held {
                dying(&mut self.cell.bindings[at]);
            } else {
                self.cell.bindings.remove(at);
            }
        }
        stepped
    }

    fn roll(&mut self) -> bool {
        let outdated = self.cell.instances.iter().position(|i| !self.is_current(i));
        if let Some(at) = outdated {
            self.cell.instances.remove(at);
            self.make();
        }
        outdated.is_some()
    }

    fn gone(&mut self) -> bool {
        let before = self.cell.bindings.len();
        self.cell.bindings.retain(|b| b.metadata.deletion_timestamp.is_none());
        self.cell.bindings.len() < before
    }

    /// What runs has a Ready binding for each of its networks.
    fn holds(&self) -> Result<(), TestCaseError> {
        for instance in self.cell.instances.iter().filter(|i| !Self::is_gated(i)) {
            for interface in instance.spec()["networkInterfaces"].as_array().unwrap() {
                let serves = |b: &Object| {
                    b.spec()["network"]["name"] == interface["network"]["name"]
                        && b.spec()["location"] == instance.spec()["location"]
                        && b.metadata.deletion_timestamp.is_none()
                        && Self::is_served(b)
                };
                prop_assert!(self.cell.bindings.iter().any(serves), "{}", instance.data);
            }
        }
        Ok(())
    }
}

proptest! {
    /// Whatever is changed, in whatever order things come up: what runs always has a Ready binding, and in
    /// the end there is one binding for each interface.
    #[test]
    fn c15_i7_what_runs_is_always_bound_and_in_the_end_each_interface_once(turns in turns(), held: bool) {
        let mut story =
            Story { cell: Cell::default(), networks: vec![net("a")], location: "dfw-0".to_owned(), held };
        for turn in turns {
            match turn {
                Transition::Template(names) => story.networks = names.iter().map(|n| net(n)).collect(),
                Transition::Location(number) => story.location = format!("dfw-{number}"),
                Transition::Served(at) => story.serve(at),
                Transition::Gone => { story.gone(); }
                Transition::Rolled => { story.roll(); }
                Transition::Made => story.make(),
            }
            story.holds()?;
            story.pass();
            story.holds()?;
        }
        let mut rounds = 0;
        loop {
            let busy = story.pass() | story.gone() | story.roll();
            story.holds()?;
            let waits = story.cell.bindings.iter().any(|b| !Story::is_served(b));
            story.serve(0);
            if !busy && !waits {
                break;
            }
            rounds += 1;
            prop_assert!(rounds < 100, "it never comes to rest");
        }
        prop_assert!(story.cell.instances.iter().all(|i| !Story::is_gated(i)));
        let name_of = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
        let bound = story.cell.bindings.iter().map(|b| (name_of(&b.spec()["network"]), name_of(&b.spec()["location"])));
        let mut bound: Vec<_> = bound.collect();
        bound.sort();
        let mut wanted: Vec<_> = story.networks.iter().map(|n| (name_of(n), story.location.clone())).collect();
        wanted.sort();
        prop_assert_eq!(bound, wanted);
    }
}
