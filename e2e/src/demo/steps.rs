//! What the watches have to see of a Workload, as a list: on its way to the cells of its cities, and on the
//! way back.

mod canary;

use std::time::Instant;

use kube::ResourceExt;
use kube::api::DynamicObject;

use super::objects::{
    Kind, NAME, NAMESPACE, REPLICAS, SETTINGS, TOKEN, are_ready, are_updated, condition, deployment_name,
    has_finalizer, image, is_true, owned_by,
};
use crate::topology::planes::HUB;

/// An object as a plane showed it at one moment.
#[derive(Debug)]
pub struct Sighting {
    /// When the event came.
    pub at: Instant,
    /// Where.
    pub plane: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The object as it was then.
    pub object: DynamicObject,
}

/// An object on a plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The plane.
    pub plane: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Its namespace; empty where it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Sighting {
    /// Whether the object is the one of that place.
    pub fn is(&self, place: &Place) -> bool {
        self.plane == place.plane
            && self.kind == place.kind
            && self.object.metadata.namespace.as_deref().unwrap_or_default() == place.namespace
            && self.object.metadata.name.as_deref() == Some(&place.name)
    }
}

/// The objects that the Workload refers to.
const DATA: [(Kind, &str, &str); 2] =
    [(Kind::ConfigMap, SETTINGS, "ConfigMap"), (Kind::Secret, TOKEN, "Secret")];

/// The expected state of an object.
#[derive(Debug, Clone)]
pub enum Like {
    Finalizer(&'static str),
    Annotation(&'static str, String),
    Label(&'static str, String),
    /// Owned by the object at that place, whose UID is the one that was seen there.
    OwnedBy(Place),
    /// A condition of that type is `True`.
    True(&'static str),
    /// A condition of that type has this status and this reason.
    Says(&'static str, &'static str, &'static str),
    /// The object is available, with this many ready Instances.
    Available(u32),
    /// Its template, or the Instance itself, has this image.
    Image(&'static str),
    /// It reports about its newest spec that this many Instances are ready with it.
    Updated(u32),
}

impl Like {
    fn holds(&self, object: &DynamicObject, seen: &[Sighting]) -> bool {
        match self {
            Self::Finalizer(name) => has_finalizer(object, name),
            Self::Annotation(key, value) => object.annotations().get(*key) == Some(value),
            Self::Label(key, value) => object.labels().get(*key) == Some(value),
            Self::OwnedBy(owner) => {
                let mut owners = seen.iter().filter(|seen| seen.is(owner));
                owners.any(|owner| owner.object.uid().is_some_and(|uid| owned_by(object, &uid)))
            }
            Self::True(condition) => is_true(&object.data["status"], condition),
            Self::Says(kind, status, reason) => condition(&object.data["status"], kind)
                .is_some_and(|condition| condition["status"] == *status && condition["reason"] == *reason),
            Self::Available(replicas) => are_ready(object, *replicas),
            Self::Image(name) => image(object) == Some(*name),
            Self::Updated(replicas) => are_updated(object, *replicas),
        }
    }
}

/// A step of a city that the times of its hops are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// The cell has the city's `WorkloadDeployment`.
    Arrived,
    /// The Instance with this ordinal is Ready in the cell.
    Ready(u32),
    /// The Instance with this ordinal is Ready in the project.
    Back(u32),
    /// The project has the status.
    Reported,
    /// The project's `WorkloadDeployment` has the corrected template.
    Turn,
    /// All of it is ready with that.
    Updated,
}

/// An expected observation.
pub struct Step {
    pub place: Place,
    pub like: Vec<Like>,
    /// How it is printed.
    pub words: String,
    /// The city that it belongs to, where a time is taken from it, and which.
    pub mark: Option<(&'static str, Mark)>,
}

impl Step {
    pub fn new(place: Place, like: impl Into<Vec<Like>>, words: impl Into<String>) -> Self {
        Self { place, like: like.into(), words: words.into(), mark: None }
    }

    fn marked(self, city: &'static str, mark: Mark) -> Self {
        Self { mark: Some((city, mark)), ..self }
    }

    /// Whether this sighting, one of those, is the step.
    pub fn is(&self, one: &Sighting, seen: &[Sighting]) -> bool {
        one.is(&self.place) && self.like.iter().all(|like| like.holds(&one.object, seen))
    }
}

/// A Workload's way: the project, the namespace on the hub and in the cells, and each city with its cell.
pub struct Way {
    pub project: &'static str,
    pub namespace: String,
    pub cities: Vec<(&'static str, &'static str)>,
}

impl Way {
    fn in_project(&self, kind: Kind, name: &str) -> Place {
        Place { plane: self.project, kind, namespace: NAMESPACE.to_owned(), name: name.to_owned() }
    }

    /// Returns an object on the hub or in a cell.
    fn beyond(&self, plane: &'static str, kind: Kind, name: &str) -> Place {
        Place { plane, kind, namespace: self.namespace.clone(), name: name.to_owned() }
    }

    /// Returns the steps of the Workload on each plane. The cities do not wait for each other.
    pub fn down(&self) -> Vec<Step> {
        let Self { project, namespace, cities } = self;
        let workload = self.in_project(Kind::Workload, NAME);
        let held = Like::Finalizer("compute.datumapis.com/workload-controller");
        let labelled = Like::Label("meta.datumapis.com/upstream-cluster-name", format!("cluster-{project}"));
        let hub_namespace =
            Place { plane: HUB, kind: Kind::Namespace, namespace: String::new(), name: namespace.clone() };
        let mut steps = vec![
            Step::new(workload.clone(), [], "it is stored"),
            Step::new(workload.clone(), [held], "fedhub records its template, and marks it: finalizer"),
            Step::new(
                hub_namespace,
                [labelled],
                format!("namespace {namespace}, labelled for {project}/{NAMESPACE}"),
            ),
        ];
        steps.extend(self.companions(HUB, ", copied once for both WorkloadDeployments"));
        for (city, cell) in cities {
            let name = &deployment_name(NAME, city);
            let policy = format!("city-{}", city.to_lowercase());
            let source =
                Like::Annotation("federation.datumapis.com/source", format!("{project}/{NAMESPACE}/{name}"));
            let owned = Like::OwnedBy(workload.clone());
            let marked = [
                owned.clone(),
                Like::Annotation("compute.datumapis.com/federation-namespace", namespace.clone()),
                Like::Finalizer("compute.datumapis.com/federator"),
            ];
            let in_project = self.in_project(Kind::Deployment, name);
            steps.extend([
                Step::new(
                    self.beyond(HUB, Kind::Policy, &policy),
                    [],
                    format!("PropagationPolicy for city {city}"),
                ),
                Step::new(
                    self.beyond(HUB, Kind::Deployment, name),
                    [source],
                    format!("WorkloadDeployment {name}, with its origin"),
                ),
                Step::new(
                    self.beyond(cell, Kind::Deployment, name),
                    [],
                    format!("Karmada has propagated {name} to the cell of its city"),
                )
                .marked(city, Mark::Arrived),
                Step::new(
                    in_project.clone(),
                    [owned],
                    format!("fedhub creates the WorkloadDeployment {name}, owned by the Workload"),
                ),
                Step::new(
                    in_project,
                    marked,
                    format!("and marks {name}: finalizer, and the name of its namespace on the hub"),
                ),
            ]);
        }
        steps
    }

    /// Returns the steps in the cells, and of the status that comes back, which does not wait for them.
    pub fn back(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (city, cell) in &self.cities {
            let name = &deployment_name(NAME, city);
            let places = [
                self.beyond(cell, Kind::Deployment, name),
                self.beyond(HUB, Kind::Deployment, name),
                self.in_project(Kind::Deployment, name),
            ];
            for ordinal in 0..REPLICAS {
                steps.extend(self.instance(city, cell, &places, ordinal));
            }
            steps.extend(self.companions(cell, &format!(" has followed {name}")));
            let words = [
                format!("status of {name}"),
                format!("Karmada has aggregated the status of {name} on the hub"),
                format!("fedhub has copied the status of {name} to the project"),
            ];
            steps.extend(places.into_iter().zip(words).map(|(place, words)| {
                let words = format!("{words}: Available=True, {REPLICAS} ready");
                let is_last = place.plane == self.project;
                let step = Step::new(place, [Like::Available(REPLICAS)], words);
                if is_last { step.marked(city, Mark::Reported) } else { step }
            }));
        }
        let all = REPLICAS * u32::try_from(self.cities.len()).unwrap_or_default();
        let words = format!("the Workload says so for all its cities: Available=True, {all} ready");
        steps.push(Step::new(self.in_project(Kind::Workload, NAME), [Like::Available(all)], words));
        steps
    }

    /// The copies of what the Workload refers to.
    fn companions(&self, plane: &'static str, words: &str) -> [Step; 2] {
        DATA.map(|(kind, name, what)| {
            let copy = Like::Label("compute.datumapis.com/referenced-data", "true".to_owned());
            Step::new(self.beyond(plane, kind, name), [copy], format!("{what} {name}{words}"))
        })
    }

    /// The steps of one Instance. Its owners are in the cell, on the hub and in the project.
    fn instance(
        &self,
        city: &'static str,
        cell: &'static str,
        owners: &[Place; 3],
        ordinal: u32,
    ) -> [Step; 8] {
        let name = format!("{}-{ordinal}", deployment_name(NAME, city));
        let in_cell = self.beyond(cell, Kind::Instance, &name);
        let on_hub = self.beyond(HUB, Kind::Instance, &name);
        let in_project = self.in_project(Kind::Instance, &name);
        let [made, copied, projected] = owners.clone().map(Like::OwnedBy);
        let ready = Like::True("Ready");
        [
            (&in_cell, made, "is created, owned by the cell's WorkloadDeployment", None),
            (&on_hub, copied, "has a copy on the hub, owned by the hub's WorkloadDeployment", None),
            (&in_project, projected, "is projected, owned by the project's WorkloadDeployment", None),
            (&in_cell, Like::True("Programmed"), "is programmed by the SIMULATED provider", None),
            (&in_cell, Like::True("Available"), "is started by the SIMULATED provider", None),
            (&in_cell, ready.clone(), "is Ready, reported by the cell's fedhub", Some(Mark::Ready(ordinal))),
            (&on_hub, ready.clone(), "is Ready on the hub", None),
            (&in_project, ready, "is Ready in the project", Some(Mark::Back(ordinal))),
        ]
        .map(|(place, like, words, mark)| Step {
            mark: mark.map(|mark| (city, mark)),
            ..Step::new(place.clone(), [like], format!("{name} {words}"))
        })
    }
}
