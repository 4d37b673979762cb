//! Which events belong to which Workload. By names: what an event is about may be gone, and its name tells
//! where it was.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_api::facts::instance::deployment_in;
use fedhub_core::names::deployment_name;
use fedhub_core::object::{Kind, Object, ObjectView};
use jiff::Timestamp;
use serde_json::Value;

use crate::model::Index;
use crate::view::object::{Place, created, is_city};

/// The Workloads of a project, and what its deployments stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    workloads: BTreeSet<String>,
    /// Workload, placement and city of a deployment, by its name.
    deployments: BTreeMap<String, Deployment>,
}

/// The Workload and the city of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Deployment {
    workload: String,
    city: String,
}

impl Names {
    /// Collects the names of these Workloads and of their deployments: those that exist, and those that the
    /// Workloads ask for.
    pub fn new(workloads: &[Object], deployments: &[Object]) -> Self {
        let mut names = Self::default();
        let index = Index::default();
        for workload in workloads {
            names.workloads.insert(workload.name().to_owned());
            for site in &index.workload(workload).sites {
                let name = deployment_name(workload.name(), site.placement, site.city);
                names.insert(name, workload.name(), site.city);
            }
        }
        for deployment in deployments {
            if let Place { workload: Some(workload), city: Some(city), .. } = Place::of_deployment(deployment)
            {
                names.insert(deployment.name().to_owned(), workload, city);
            }
        }
        names
    }

    fn insert(&mut self, deployment: String, workload: &str, city: &str) {
        let of = Deployment { workload: workload.to_owned(), city: city.to_owned() };
        self.workloads.insert(of.workload.clone());
        self.deployments.insert(deployment, of);
    }

    /// Adds what others say.
    pub fn extend(&mut self, other: Self) {
        self.workloads.extend(other.workloads);
        self.deployments.extend(other.deployments);
    }

    /// Whether there is anything of a Workload of that name.
    pub fn has_workload(&self, name: &str) -> bool {
        self.workloads.contains(name)
    }
}

/// The subject of an event, in the user's terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The Workload, where it is known.
    pub workload: Option<String>,
    /// The city, for what is in one.
    pub city: Option<String>,
    /// The Instance, if it is about one.
    pub instance: Option<String>,
}

impl About {
    /// Reads the reference of an event; `None` if it is not to an object of compute.
    fn from_reference(reference: &Value, names: &Names) -> Option<Self> {
        let name = reference["name"].as_str()?;
        let is = |kind: Kind| {
            let resource = kind.resource();
            let group = reference["apiVersion"].as_str().unwrap_or_default().split('/').next();
            reference["kind"] == resource.kind
                && (group == Some("") || group == Some(resource.group.as_str()))
        };
        let within = |deployment: Option<&str>, instance: Option<&str>| {
            let known = deployment.and_then(|it| names.deployments.get(it));
            Self {
                workload: known.map(|it| it.workload.clone()),
                city: known.map(|it| it.city.clone()),
                instance: instance.map(str::to_owned),
            }
        };
        if is(Kind::Workload) {
            return Some(Self { workload: Some(name.to_owned()), city: None, instance: None });
        }
        if is(Kind::WorkloadDeployment) {
            return Some(within(Some(name), None));
        }
        is(Kind::Instance).then(|| within(deployment_in(name), Some(name)))
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it happened last; `None` where no server has said.
    pub at: Option<Timestamp>,
    /// How often it happened.
    pub count: i64,
    /// Whether it needs attention.
    pub is_warning: bool,
    /// The subject of the event.
    pub about: About,
    /// Its reason, in one word.
    pub reason: String,
    /// Its words.
    pub note: String,
}

/// Selects events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// Selects the events of this Workload.
    pub workload: Option<&'a str>,
    /// Selects the events in these cities; all of them if empty.
    pub cities: &'a [String],
    /// Warnings alone.
    pub warnings: bool,
}

/// The event that an object is, if it is one of compute that passes.
pub fn entry(event: &Object, names: &Names, filter: Filter<'_>) -> Option<Entry> {
    let data = &event.data;
    let times = [&data["series"]["lastObservedTime"], &data["lastTimestamp"], &data["eventTime"]];
    let counts = [&data["series"]["count"], &data["count"]];
    let text = |field: &str| data[field].as_str().unwrap_or_default().to_owned();
    let entry = Entry {
        at: times
            .into_iter()
            .filter_map(|at| at.as_str().and_then(|text| text.parse::<Timestamp>().ok()))
            .max()
            .or_else(|| created(event)),
        count: counts.into_iter().filter_map(Value::as_i64).max().unwrap_or(1),
        is_warning: data["type"] == "Warning",
        about: About::from_reference(&data["involvedObject"], names)?,
        reason: text("reason"),
        note: text("message"),
    };
    let about = &entry.about;
    let of_workload = filter.workload.is_none_or(|name| about.workload.as_deref() == Some(name));
    let passes = of_workload
        && (filter.cities.is_empty()
            || filter
                .cities
                .iter()
                .any(|typed| about.city.as_ref().is_some_and(|code| is_city(code, typed))))
        && (entry.is_warning || !filter.warnings);
    passes.then_some(entry)
}

/// Returns the entries of the selected events, the newest last.
pub fn entries(events: &[Object], names: &Names, filter: Filter<'_>) -> Vec<Entry> {
    let mut all: Vec<Entry> = events.iter().filter_map(|event| entry(event, names, filter)).collect();
    all.sort_by_key(|entry| entry.at);
    all
}
