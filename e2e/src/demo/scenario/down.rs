//! From the user's write to the cell.

use std::time::Instant;

use kube::api::{DynamicObject, PostParams};
use kube::{Api, ResourceExt};

use super::{Error, Placed, Scenario, Thread};
use crate::demo::objects::{Kind, NAME, NAMESPACE, REPLICAS, deployment, object};

impl Scenario<'_> {
    /// Each step causes the next.
    pub(super) async fn down(&self) -> Result<(Thread, Placed), Error> {
        let Self { project, city, cell, .. } = *self;
        let asks = format!(
            "its user creates the WorkloadDeployment {NAMESPACE}/{NAME}: {REPLICAS} Instances in {city}"
        );
        self.printer.act(project, &asks);
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.user.clone(), NAMESPACE, &Kind::Deployment.resource());
        let wanted = object(deployment(city, REPLICAS))?;
        let action = format!("create WorkloadDeployment {NAMESPACE}/{NAME} on {project}");
        let thread = Thread::from(Instant::now());
        let created = api.create(&PostParams::default(), &wanted).await.map_err(crate::Error::api(action))?;
        let uid = created.uid().unwrap_or_default();

        self.saw(&thread, project, "it is stored", |seen| self.is_mine(seen, &uid).then_some(())).await?;
        let marked = "fedhub marks it: finalizer, and the name of its namespace on the hub";
        let space = self
            .saw(&thread, project, marked, |seen| {
                let marked = self.is_mine(seen, &uid)
                    && seen.object.finalizers().iter().any(|f| f == "compute.datumapis.com/federator");
                let space = seen.object.annotations().get("compute.datumapis.com/federation-namespace");
                space.filter(|_| marked).cloned()
            })
            .await?;
        let words = format!("namespace {space}, labelled for {project}/{NAMESPACE}");
        self.saw(&thread, "hub", &words, |seen| {
            let labelled = seen.object.labels().get("meta.datumapis.com/upstream-cluster-name");
            let ours = labelled.is_some_and(|plane| *plane == format!("cluster-{project}"));
            (seen.is("hub", Kind::Namespace, "", &space) && ours).then_some(())
        })
        .await?;
        self.saw(&thread, "hub", &format!("PropagationPolicy for city {city}"), |seen| {
            let code = seen.object.labels().get("topology.datum.net/city-code");
            let found = seen.kind == Kind::Policy && seen.object.namespace().as_deref() == Some(&*space);
            (found && code.is_some_and(|code| code == city)).then_some(())
        })
        .await?;
        let copy = format!("WorkloadDeployment {NAME}, with its origin");
        let on_hub = self
            .saw(&thread, "hub", &copy, |seen| {
                let origin = seen.object.annotations().get("federation.datumapis.com/source-uid");
                let found = seen.is("hub", Kind::Deployment, &space, NAME) && origin == Some(&uid);
                found.then(|| seen.object.uid().unwrap_or_default())
            })
            .await?;
        let (in_cell, at) = self
            .saw(&thread, cell, "Karmada has propagated it to the cell of that city", |seen| {
                let found = seen.is(cell, Kind::Deployment, &space, NAME);
                found.then(|| (seen.object.uid().unwrap_or_default(), seen.at))
            })
            .await?;
        Ok((thread, Placed { space, in_project: uid, on_hub, in_cell, at }))
    }
}
