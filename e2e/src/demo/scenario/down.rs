//! From the user's write to the cells.

use std::time::Instant;

use kube::api::{DynamicObject, PostParams};
use kube::{Api, ResourceExt};

use super::{DATA, Deployment, Error, Like, Placed, Scenario, Thread, is_companion};
use crate::demo::objects::{
    Kind, NAME, NAMESPACE, REPLICAS, SETTINGS, TOKEN, has_finalizer, object, owned_by, workload_with_data,
};
use crate::demo::timeline::Wanted;

/// The finalizer of a Workload, and that of a `WorkloadDeployment` that is on its way to the hub.
const FINALIZERS: [&str; 2] =
    ["compute.datumapis.com/workload-controller", "compute.datumapis.com/federator"];

impl Scenario<'_> {
    /// What the Workload becomes on each plane. The cities do not wait for each other: these steps are awaited together, and
    /// printed in the order of their time.
    pub(super) async fn down(&self) -> Result<(Thread, Placed), Error> {
        let space = self.space().await?;
        let (thread, workload) = self.asks().await?;
        let likes = Likes::of(self.project, &workload, &space);
        let names: Vec<_> = self.cities.iter().map(|city| (city.deployment(), city.policy())).collect();
        let mut wanted = self.of_workload(&likes, &space);
        for (city, (name, policy)) in self.cities.iter().zip(&names) {
            let of_hub =
                |kind, name, like, words| Wanted { plane: "hub", kind, namespace: &space, name, like, words };
            let words = format!("PropagationPolicy for city {}", city.code);
            wanted.push(of_hub(Kind::Policy, policy, &*likes.any, words));
            let words = format!("WorkloadDeployment {name}, with its origin");
            wanted.push(of_hub(Kind::Deployment, name, &*likes.copied, words));
            wanted.push(Wanted {
                plane: city.cell,
                kind: Kind::Deployment,
                namespace: &space,
                name,
                like: &*likes.any,
                words: format!("Karmada has propagated {name} to the cell of its city"),
            });
            let steps = [
                (
                    &*likes.owned,
                    format!("fedhub creates the WorkloadDeployment {name}, owned by the Workload"),
                ),
                (
                    &*likes.marked,
                    format!("and marks {name}: finalizer, and the name of its namespace on the hub"),
                ),
            ];
            wanted.extend(steps.map(|(like, words)| Wanted {
                plane: self.project,
                kind: Kind::Deployment,
                namespace: NAMESPACE,
                name,
                like,
                words,
            }));
        }
        self.saw_all(&thread, &wanted).await?;
        let mut deployments = Vec::new();
        for (city, (name, _)) in self.cities.iter().zip(&names) {
            let (_, in_project) = self.found(self.project, NAMESPACE, name, &*likes.owned).await?;
            let (_, on_hub) = self.found("hub", &space, name, &*likes.copied).await?;
            let (at, in_cell) = self.found(city.cell, &space, name, &*likes.any).await?;
            deployments.push(Deployment { name: name.clone(), in_project, on_hub, in_cell, at });
        }
        Ok((thread, Placed { space: space.clone(), workload: workload.clone(), deployments }))
    }

    /// The name that the hub namespace will have.
    async fn space(&self) -> Result<String, Error> {
        let namespaces: Api<DynamicObject> = Api::all_with(self.user.clone(), &Kind::Namespace.resource());
        let namespace = namespaces.get_metadata(NAMESPACE).await;
        let action = format!("get the namespace {NAMESPACE} of {}", self.project);
        let namespace = namespace.map_err(crate::Error::api(action))?;
        Ok(format!("ns-{}", namespace.uid().unwrap_or_default()))
    }

    /// The user writes: when, and the UID of the Workload.
    async fn asks(&self) -> Result<(Thread, String), Error> {
        let cities: Vec<_> = self.cities.iter().map(|city| city.code).collect();
        let asks = format!(
            "its user creates ConfigMap {SETTINGS}, Secret {TOKEN} and Workload {NAMESPACE}/{NAME}: {REPLICAS} Instances \
             in each of {}",
            cities.join(" and ")
        );
        self.printer.act(self.project, &asks);
        let (mut cause, mut uid) = (Instant::now(), String::new());
        for (kind, manifest) in workload_with_data(&cities, REPLICAS) {
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.user.clone(), NAMESPACE, &kind.resource());
            let object = object(manifest)?;
            let action = format!("create {} of {kind} on {}", object.name_any(), self.project);
            cause = Instant::now();
            let created = api.create(&PostParams::default(), &object).await;
            uid = created.map_err(crate::Error::api(action))?.uid().unwrap_or_default();
        }
        Ok((Thread::from(cause), uid))
    }

    /// What there is once, however many cities there are.
    fn of_workload<'a>(&self, likes: &'a Likes<'a>, space: &'a str) -> Vec<Wanted<'a>> {
        let once =
            |plane, kind, namespace, name, like, words| Wanted { plane, kind, namespace, name, like, words };
        let project = self.project;
        let recorded = "fedhub records its template, and marks it: finalizer".to_owned();
        let labelled = format!("namespace {space}, labelled for {project}/{NAMESPACE}");
        let mut wanted = vec![
            once(project, Kind::Workload, NAMESPACE, NAME, &*likes.stored, "it is stored".to_owned()),
            once(project, Kind::Workload, NAMESPACE, NAME, &*likes.held, recorded),
            once("hub", Kind::Namespace, "", space, &*likes.labelled, labelled),
        ];
        wanted.extend(DATA.map(|(kind, name, what)| {
            let words = format!("{what} {name}, copied once for both WorkloadDeployments");
            once("hub", kind, space, name, &is_companion, words)
        }));
        wanted
    }
}

/// What the objects on the way are like.
struct Likes<'a> {
    any: Box<Like<'a>>,
    /// The Workload.
    stored: Box<Like<'a>>,
    held: Box<Like<'a>>,
    /// A `WorkloadDeployment` of it, in the project.
    owned: Box<Like<'a>>,
    marked: Box<Like<'a>>,
    /// The hub namespace, and a `WorkloadDeployment` in it.
    labelled: Box<Like<'a>>,
    copied: Box<Like<'a>>,
}

impl<'a> Likes<'a> {
    fn of(project: &'a str, workload: &'a str, space: &'a str) -> Self {
        let is_it = move |seen: &DynamicObject| seen.metadata.uid.as_deref() == Some(workload);
        let owned = move |seen: &DynamicObject| owned_by(seen, workload);
        let named = move |seen: &DynamicObject| {
            let named = seen.annotations().get("compute.datumapis.com/federation-namespace");
            named.is_some_and(|named| named == space)
        };
        let label = "meta.datumapis.com/upstream-cluster-name";
        Self {
            any: Box::new(|_| true),
            stored: Box::new(is_it),
            held: Box::new(move |seen| is_it(seen) && has_finalizer(seen, FINALIZERS[0])),
            owned: Box::new(owned),
            marked: Box::new(move |seen| owned(seen) && named(seen) && has_finalizer(seen, FINALIZERS[1])),
            labelled: Box::new(move |seen| seen.labels().get(label) == Some(&format!("cluster-{project}"))),
            copied: Box::new(move |seen| {
                let source = format!("{project}/{NAMESPACE}/{}", seen.name_any());
                seen.annotations().get("federation.datumapis.com/source") == Some(&source)
            }),
        }
    }
}
