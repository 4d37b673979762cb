//! Fills a fleet: with WDs that are not federated yet, or with the objects as fedhub leaves them, in which it
//! finds nothing to write.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Fleet;
use super::objects::{self, Deployment, Place};
use crate::answer::Refusal;
use crate::meta;
use crate::server::ApiServer;

/// The objects that a fleet is filled with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Population {
    /// How many WDs, spread over the planes whose Projects stand.
    pub deployments: usize,
    /// How many Instances, spread over the WDs.
    #[serde(default)]
    pub instances: usize,
    /// How far they have come.
    #[serde(default)]
    pub state: State,
    /// The prefix of the WDs' names.
    #[serde(default = "prefix")]
    pub prefix: String,
    /// The namespace of every plane that they are in.
    #[serde(default = "namespace")]
    pub namespace: String,
}

/// How far objects have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Federated, reported on, projected: in steady state.
    #[default]
    InOrder,
    /// Made by their users, and no more: there are no Instances.
    Unfederated,
}

fn prefix() -> String {
    "wd".to_owned()
}

fn namespace() -> String {
    "default".to_owned()
}

impl Population {
    /// Returns a population of this many WDs and Instances, all of which are in order.
    pub fn in_order(deployments: usize, instances: usize) -> Self {
        let state = State::InOrder;
        Self { deployments, instances, state, prefix: prefix(), namespace: namespace() }
    }
}

impl Fleet {
    /// Fills the planes whose Projects stand. What has the same names already is overwritten.
    pub fn populate(&self, population: &Population) -> Result<(), Refusal> {
        let planes: Vec<&ApiServer> = self
            .projects()
            .values()
            .filter(|plane| self.management().get("Project", "", plane.name()).is_some())
            .collect();
        let cities = &self.inner.cities;
        if (planes.is_empty() || cities.is_empty()) && population.deployments > 0 {
            return Err(Refusal::bad_request("there is no plane or no city to put them in"));
        }
        let since = self.hub().clock().stamp();
        for (turn, plane) in planes.iter().enumerate() {
            let mine = (turn..population.deployments).step_by(planes.len());
            if mine.len() == 0 {
                break;
            }
            let home = Home::new(self.hub(), plane, population)?;
            for (nth, index) in mine.enumerate() {
                let rest = usize::from(index < population.instances % population.deployments);
                home.deployment(&Deployment {
                    name: &format!("{}-{index:05}", population.prefix),
                    city: &cities[nth % cities.len()],
                    replicas: population.instances / population.deployments + rest,
                    since: &since,
                })?;
            }
        }
        Ok(())
    }
}

/// A namespace of a project plane, and its hub namespace where there is one.
struct Home<'a> {
    hub: &'a ApiServer,
    plane: &'a ApiServer,
    namespace: &'a str,
    /// Name and UID.
    hub_namespace: Option<(String, String)>,
}

impl<'a> Home<'a> {
    fn new(hub: &'a ApiServer, plane: &'a ApiServer, population: &'a Population) -> Result<Self, Refusal> {
        let namespace = &population.namespace;
        let here = plane
            .put(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } }))?;
        let hub_namespace = if population.state == State::InOrder {
            let name = format!("ns-{}", meta::text(&here, "uid"));
            let there = hub.put(objects::hub_namespace(&name, plane.name(), namespace))?;
            Some((name, meta::text(&there, "uid").to_owned()))
        } else {
            None
        };
        Ok(Self { hub, plane, namespace, hub_namespace })
    }

    fn place(&self) -> Option<Place<'_>> {
        let (name, uid) = self.hub_namespace.as_ref()?;
        Some(Place {
            plane: self.plane.name(),
            namespace: self.namespace,
            hub_namespace: name,
            hub_namespace_uid: uid,
        })
    }

    fn deployment(&self, wd: &Deployment<'_>) -> Result<(), Refusal> {
        let place = self.place();
        let ours = self.plane.put(objects::project_deployment(wd, self.namespace, place.as_ref()))?;
        let Some(place) = place else { return Ok(()) };
        let uid = meta::get(&ours, "uid");
        let generation = meta::get(&ours, "generation");
        let policy = objects::policy(place.hub_namespace, wd.city);
        if self.hub.get("PropagationPolicy", place.hub_namespace, meta::text(&policy, "name")).is_none() {
            self.hub.put(policy)?;
        }
        let theirs = self.hub.put(objects::hub_deployment(wd, &place, uid, generation))?;
        (0..wd.replicas)
            .try_for_each(|ordinal| self.instance(wd, &place, uid, meta::get(&theirs, "uid"), ordinal))
    }

    fn instance(
        &self,
        wd: &Deployment<'_>,
        place: &Place<'_>,
        uid: &Value,
        hub_uid: &Value,
        ordinal: usize,
    ) -> Result<(), Refusal> {
        let source = self.hub.put(objects::hub_instance(wd, place, hub_uid, ordinal))?;
        let source = meta::text(&source, "uid");
        self.plane.put(objects::projection(wd, place, uid, ordinal, source)).map(drop)
    }
}
