//! What is rolled out: a WD in each of two projects, each for a city of its own; and a Workload of the first
//! one in both cities, which get its template one after the other (R1).

use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::Error;
use crate::demo::objects::{self, Kind};
use crate::topology::Planes;
use crate::topology::planes::{self, Plane, cells, projects};
use crate::turns::{Sighted, Turns};

/// The namespace, in both projects.
pub const NAMESPACE: &str = "chaos";
/// The WD's name, in both projects.
pub const NAME: &str = "web";
/// The Workload's name.
pub const ORDERED: &str = "ordered";
/// The Instances that the Workload has in each city: both cities together take nearly as long as one of the
/// WDs, so that most kills come while one has its turn.
pub const ORDERED_REPLICAS: u32 = 7;
/// How long the simulated provider takes for each step of an Instance's start.
const START_TIME: (&str, &str) = ("simulate.fedhub.dev/start-time", "20ms");

/// A WD's way.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    /// Where it is written.
    pub project: &'static Plane,
    /// Where it runs.
    pub cell: &'static Plane,
    /// The code of that cell's city.
    pub city: &'static str,
}

/// Each project's WD runs in another cell.
pub fn ways() -> impl Iterator<Item = Way> {
    projects().zip(cells()).map(|(project, (cell, city))| Way { project, cell, city })
}

/// An object as it stands on a plane.
#[derive(Debug, Clone)]
pub struct Found {
    /// Where.
    pub plane: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The whole object.
    pub object: Value,
}

/// Returns the kinds to look at on a plane.
fn kinds(plane: &Plane) -> &'static [Kind] {
    match plane.kind {
        planes::Kind::Hub => &[Kind::Namespace, Kind::Policy, Kind::Deployment, Kind::Instance],
        planes::Kind::Cell { .. } | planes::Kind::Project => {
            &[Kind::Namespace, Kind::Deployment, Kind::Instance]
        }
        planes::Kind::Management => &[],
    }
}

/// The planes, as their administrator.
pub struct Fixture {
    clients: Vec<(&'static Plane, Client)>,
}

impl Fixture {
    /// Connects to every plane.
    pub async fn from_planes(planes: &Planes) -> Result<Self, Error> {
        let mut clients = Vec::new();
        for plane in planes.cells().planes() {
            clients.push((plane, planes.client(plane.name).await?));
        }
        Ok(Self { clients })
    }

    /// A client of a plane.
    pub fn client(&self, plane: &str) -> Result<&Client, Error> {
        let found = self.clients.iter().find(|(known, _)| known.name == plane);
        found.map(|(_, client)| client).ok_or_else(|| Error::Unknown {
            kind: "plane",
            name: plane.to_owned(),
            known: self.clients.iter().map(|(known, _)| known.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// Makes the WDs, which run this round's template.
    pub async fn make(&self, replicas: u32, round: &str) -> Result<(), Error> {
        for way in ways() {
            let client = self.client(way.project.name)?;
            let namespace =
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
            create(&Api::all_with(client.clone(), &Kind::Namespace.resource()), namespace).await?;
            create(&self.objects(way, Kind::Deployment)?, deployment(way.city, replicas, round)).await?;
        }
        create(&self.workloads()?, workload(round)).await
    }

    /// Gives both WDs and the Workload the template of another round.
    pub async fn change(&self, round: &str) -> Result<(), Error> {
        for way in ways() {
            let containers = containers(round);
            let template = json!({ "spec": { "runtime": { "sandbox": { "containers": containers } } } });
            let patch = Patch::Merge(json!({ "spec": { "template": template } }));
            let wds = self.objects(way, Kind::Deployment)?;
            let changed = wds.patch(NAME, &PatchParams::default(), &patch).await;
            changed.map_err(Error::api(format!("patch {NAMESPACE}/{NAME} on {}", way.project.name)))?;
        }
        let patch = Patch::Merge(json!({ "spec": { "template": ordered_template(round) } }));
        let changed = self.workloads()?.patch(ORDERED, &PatchParams::default(), &patch).await;
        changed.map(drop).map_err(Error::api(format!("patch {NAMESPACE}/{ORDERED}")))
    }

    /// Watches the WDs of the Workload from now on, which is about to change from the template of the first
    /// round to that of the second.
    pub async fn turns(&self, rounds: [&str; 2]) -> Result<Sighted, Error> {
        let cities: Vec<_> = ways().map(|way| way.city).collect();
        let images = rounds.map(ordered_image);
        let turns = Turns::new(ORDERED, &cities, ORDERED_REPLICAS, images.each_ref().map(String::as_str));
        Sighted::watch(self.client(first()?.project.name)?, turns).await
    }

    /// Everything that stands on the planes, read from their servers, but for what the Workload has there:
    /// how far that is depends on the moment of a kill.
    pub async fn look(&self) -> Result<Vec<Found>, Error> {
        let mut found = Vec::new();
        for (plane, client) in &self.clients {
            for kind in kinds(plane) {
                let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.resource());
                let list = api.list(&ListParams::default()).await;
                for object in list.map_err(Error::api(format!("list {kind} on {}", plane.name)))? {
                    if object.name_any().starts_with(ORDERED) {
                        continue;
                    }
                    let object = serde_json::to_value(object)
                        .map_err(|error| Error::Chaos(format!("{kind} on {}: {error}", plane.name)))?;
                    found.push(Found { plane: plane.name, kind: *kind, object });
                }
            }
        }
        Ok(found)
    }

    fn objects(&self, way: Way, kind: Kind) -> Result<Api<DynamicObject>, Error> {
        let client = self.client(way.project.name)?.clone();
        Ok(Api::namespaced_with(client, NAMESPACE, &kind.resource()))
    }

    fn workloads(&self) -> Result<Api<DynamicObject>, Error> {
        self.objects(first()?, Kind::Workload)
    }
}

/// The way whose project has the Workload.
fn first() -> Result<Way, Error> {
    ways().next().ok_or_else(|| Error::Chaos("there is no project with a cell".to_owned()))
}

async fn create(api: &Api<DynamicObject>, object: Value) -> Result<(), Error> {
    let object = objects::object(object)?;
    let made = api.create(&PostParams::default(), &object).await;
    made.map(drop).map_err(Error::api("create what is rolled out"))
}

fn deployment(city: &str, replicas: u32, round: &str) -> Value {
    let mut deployment = objects::deployment(city, replicas);
    deployment["metadata"] = json!({ "namespace": NAMESPACE, "name": NAME });
    let template = &mut deployment["spec"]["template"];
    template["metadata"] = json!({ "annotations": { START_TIME.0: START_TIME.1 } });
    template["spec"]["runtime"]["sandbox"]["containers"] = containers(round);
    deployment
}

fn workload(round: &str) -> Value {
    let cities: Vec<_> = ways().map(|way| way.city).collect();
    let mut workload = objects::workload(&cities, ORDERED_REPLICAS);
    workload["metadata"] = json!({ "namespace": NAMESPACE, "name": ORDERED });
    let template = &mut workload["spec"]["template"];
    template["metadata"] = json!({ "annotations": { START_TIME.0: START_TIME.1 } });
    template["spec"]["runtime"]["sandbox"]["containers"] =
        ordered_template(round)["spec"]["runtime"]["sandbox"]["containers"].clone();
    workload
}

/// What of the Workload's template differs from round to round.
fn ordered_template(round: &str) -> Value {
    let containers = json!([{ "name": "app", "image": ordered_image(round) }]);
    json!({ "spec": { "runtime": { "sandbox": { "containers": containers } } } })
}

fn ordered_image(round: &str) -> String {
    format!("docker.io/library/nginx:{}", round.replace(' ', "-"))
}

/// Returns the containers, which differ from round to round in the value of an environment variable.
fn containers(round: &str) -> Value {
    let variable = json!({ "name": "ROUND", "value": round });
    json!([{ "name": "app", "image": "docker.io/library/nginx:1.29", "env": [variable] }])
}

/// The round whose template an Instance or a WD's template runs.
pub fn round_of(spec: &Value) -> &str {
    spec["runtime"]["sandbox"]["containers"][0]["env"][0]["value"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_project_has_a_city_of_its_own() {
        let ways: Vec<_> = ways().map(|way| (way.project.name, way.cell.name, way.city)).collect();
        assert_eq!(ways, [("project-a", "cell-dfw", "DFW"), ("project-b", "cell-ord", "ORD")]);
    }

    #[test]
    fn a_template_tells_its_round() {
        let deployment = deployment("DFW", 3, "round 7");
        assert_eq!(round_of(&deployment["spec"]["template"]["spec"]), "round 7");
        assert_eq!(round_of(&json!({})), "");
    }
}
