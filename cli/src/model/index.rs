//! Workloads with their deployments and Instances, joined by name and labels.

use std::collections::HashMap;

use fedhub_api::conditions::{find, is_default, said};
use fedhub_api::facts::instance::deployment_name;
use fedhub_core::names::{WORKLOAD_NAME, WORKLOAD_UID};
use fedhub_core::object::{Object, ObjectView};

use super::status::{Counts, Health, is_observed};

/// The deployments and Instances of a project, by what they belong to.
#[derive(Debug, Default)]
pub struct Index<'a> {
    /// Deployments by the name of their Workload.
    deployments: HashMap<&'a str, Vec<&'a Object>>,
    /// Instances by the name of their deployment.
    instances: HashMap<&'a str, Vec<&'a Object>>,
    /// Instances by the name of their Workload, as their labels say.
    labelled: HashMap<&'a str, Vec<&'a Object>>,
    /// Whether deployments were read at all: an index of nothing says nothing of them.
    has_deployments: bool,
}

/// A Workload with what belongs to it.
#[derive(Clone, Debug)]
pub struct Workload<'a> {
    /// The Workload itself.
    pub object: &'a Object,
    /// Its cities: those that its spec names in the order of its placements, then those that it has left and
    /// not yet cleaned up.
    pub sites: Vec<Site<'a>>,
    /// Instances of it whose deployment is gone.
    pub strays: Vec<&'a Object>,
    /// Whether deployments were read at all, so that one that is not here does not exist.
    pub has_deployments: bool,
}

/// A city of a placement.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// The name of the placement.
    pub placement: &'a str,
    /// The code of the city, as written.
    pub city: &'a str,
    /// Whether the Workload's spec names it.
    pub wanted: bool,
    /// Its deployment.
    pub deployment: Option<&'a Object>,
    /// The deployment's Instances, by ordinal.
    pub instances: Vec<&'a Object>,
}

impl<'a> Index<'a> {
    /// Builds the index of these deployments and Instances.
    pub fn new(
        deployments: impl IntoIterator<Item = &'a Object>,
        instances: impl IntoIterator<Item = &'a Object>,
    ) -> Self {
        let mut index = Self { has_deployments: true, ..Self::default() };
        for deployment in deployments {
            let workload = deployment.spec()["workloadRef"]["name"].as_str().unwrap_or_default();
            index.deployments.entry(workload).or_default().push(deployment);
        }
        for instance in instances {
            if let Some(deployment) = deployment_name(instance) {
                index.instances.entry(deployment).or_default().push(instance);
            }
            if let Some(workload) = instance.label(WORKLOAD_NAME) {
                index.labelled.entry(workload).or_default().push(instance);
            }
        }
        for instances in index.instances.values_mut() {
            // Names differ in the ordinal alone, so a shorter one has a smaller ordinal.
            instances.sort_by_key(|instance| (instance.name().len(), instance.name()));
        }
        index
    }

    /// Returns a Workload with everything that belongs to it.
    pub fn workload(&self, workload: &'a Object) -> Workload<'a> {
        let mut own: Vec<&'a Object> = self.deployments.get(workload.name()).cloned().unwrap_or_default();
        // The deployments of an earlier Workload of that name are being collected.
        own.retain(|deployment| deployment.spec()["workloadRef"]["uid"] == workload.uid());
        own.sort_by_key(|deployment| place(deployment));
        let names: Vec<&str> = own.iter().map(|deployment| deployment.name()).collect();
        let strays = self.labelled.get(workload.name()).into_iter().flatten().copied();
        let strays = strays.filter(|instance| {
            let uid = instance.label(WORKLOAD_UID);
            uid.is_none_or(|uid| uid == workload.uid())
                && deployment_name(instance).is_none_or(|name| !names.contains(&name))
        });
        let strays = strays.collect();
        let mut sites: Vec<Site<'a>> = Vec::new();
        for (placement, city) in wanted(workload) {
            let at = own.iter().position(|deployment| place(deployment) == (placement, city));
            let deployment = at.map(|at| own.remove(at));
            sites.push(self.site(placement, city, true, deployment));
        }
        let left = own.into_iter().map(|deployment| {
            let (placement, city) = place(deployment);
            self.site(placement, city, false, Some(deployment))
        });
        sites.extend(left);
        Workload { object: workload, sites, strays, has_deployments: self.has_deployments }
    }

    fn site(
        &self,
        placement: &'a str,
        city: &'a str,
        wanted: bool,
        deployment: Option<&'a Object>,
    ) -> Site<'a> {
        let instances = deployment.and_then(|deployment| self.instances.get(deployment.name()));
        Site { placement, city, wanted, deployment, instances: instances.cloned().unwrap_or_default() }
    }

    /// The deployment of that name, as an Instance names it.
    pub fn deployment(&self, name: &str) -> Option<&'a Object> {
        self.deployments.values().flatten().find(|deployment| deployment.name() == name).copied()
    }
}

/// The placement and city of a deployment.
fn place(deployment: &Object) -> (&str, &str) {
    let text = |field: &str| deployment.spec()[field].as_str().unwrap_or_default();
    (text("placementName"), text("cityCode"))
}

/// The placements and cities that a Workload asks for: placements in the order of its spec, cities by name
/// (W3).
fn wanted(workload: &Object) -> Vec<(&str, &str)> {
    let placements = workload.spec()["placements"].as_array().into_iter().flatten();
    let each = placements.flat_map(|placement| {
        let name = placement["name"].as_str().unwrap_or_default();
        let cities = placement["cityCodes"].as_array().into_iter().flatten();
        let mut cities: Vec<&str> = cities.filter_map(|city| city.as_str()).collect();
        cities.sort_unstable();
        cities.into_iter().map(move |city| (name, city))
    });
    each.collect()
}

impl Workload<'_> {
    /// Its health; unknown until something was reported.
    pub fn health(&self) -> Health {
        let status = self.object.status();
        let available = find(status, "Available").filter(|condition| !is_default(condition));
        let (Some(available), Some(counts)) = (available, Counts::from_status(status)) else {
            return Health::Unknown;
        };
        let missing =
            self.has_deployments && self.sites.iter().any(|site| site.wanted && site.deployment.is_none());
        match said(available).0 {
            "True" if counts.ready < counts.desired || missing => Health::Degraded,
            "True" => Health::Available,
            "False" => Health::Unavailable,
            _ => Health::Unknown,
        }
    }

    /// Its numbers; `None` until something was reported. They are sums of its deployments: where it wants
    /// instances and has none of those, zeros are numbers of nothing.
    pub fn counts(&self) -> Option<Counts> {
        let is_nothing = |counts: &Counts| counts.desired == 0 && counts.replicas == 0;
        Counts::from_status(self.object.status())
            .filter(|counts| !is_nothing(counts) || !self.wants_instances())
    }

    /// Whether some city is to have instances.
    fn wants_instances(&self) -> bool {
        let placements = self.object.spec()["placements"].as_array().into_iter().flatten();
        placements
            .filter(|it| it["cityCodes"].as_array().is_some_and(|cities| !cities.is_empty()))
            .any(|it| it["scaleSettings"]["minReplicas"].as_i64() != Some(0))
    }

    /// The cities that its spec names, each once, in the order of its placements.
    pub fn cities(&self) -> Vec<&str> {
        let mut cities = Vec::new();
        for site in self.sites.iter().filter(|site| site.wanted) {
            if !cities.contains(&site.city) {
                cities.push(site.city);
            }
        }
        cities
    }
}

impl Site<'_> {
    /// The numbers that its deployment reports; `None` until it has reported any.
    pub fn counts(&self) -> Option<Counts> {
        Counts::from_status(self.deployment?.status())
    }

    /// Whether what its deployment reports is about the generation that it has now.
    pub fn is_observed(&self) -> bool {
        self.deployment.is_some_and(is_observed)
    }
}
