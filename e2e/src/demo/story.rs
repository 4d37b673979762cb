//! One deployment on its way from a project to a cell, and what comes back.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use kube::{
    Api, Client, ResourceExt,
    api::{DynamicObject, ListParams, PostParams},
};

use super::{
    Error,
    cell::SimulatedCell,
    objects::{Kind, NAME, NAMESPACE, deployment, is_true, object},
    sight::{Sight, Sighting},
    voice::{Voice, say},
};

/// How long one step may take. Usually it is less than a tenth of a second.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A project, the city that it asks for, and the cells.
pub struct Story<'a> {
    /// Where it prints.
    pub voice: Voice,
    /// What is seen.
    pub sight: &'a Sight,
    /// The project plane's name.
    pub project: &'static str,
    /// The project's user.
    pub user: Client,
    /// The city that the user asks for.
    pub city: &'static str,
    /// The cell of that city.
    pub cell: SimulatedCell,
    /// The other cells.
    pub others: Vec<(&'static str, Client)>,
    /// Where the logs are.
    pub logs: String,
}

/// How long the three ways took, each from its cause.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// From the user's write to the arrival in the cell.
    pub down: Duration,
    /// From the cell's report to the status in the project.
    pub status: Duration,
    /// From the Instance on the hub to its projection in the project.
    pub instance: Duration,
}

/// A cause, and when the last of its effects was seen.
struct Thread {
    cause: Instant,
    last: Cell<Instant>,
}

impl Thread {
    fn from(cause: Instant) -> Self {
        Self { cause, last: Cell::new(cause) }
    }
}

impl Story<'_> {
    /// Plays it. Fails at the first step that is not seen.
    pub async fn play(&self) -> Result<Times, Error> {
        let (hub, down) = self.down().await?;
        let status = self.status(&hub).await?;
        let instance = self.instance(&hub).await?;
        self.nowhere_else(&hub).await?;
        Ok(Times { down, status, instance })
    }

    /// From the user's write to the cell.
    async fn down(&self) -> Result<(OnHub, Duration), Error> {
        let Self { project, city, .. } = *self;
        self.voice
            .act(project, &format!("its user creates the WorkloadDeployment {NAMESPACE}/{NAME} for {city}"));
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.user.clone(), NAMESPACE, &Kind::Deployment.resource());
        let wanted = object(deployment(city))?;
        let action = format!("create WorkloadDeployment {NAMESPACE}/{NAME} on {project}");
        let cause = Instant::now();
        let created = api.create(&PostParams::default(), &wanted).await.map_err(crate::Error::api(action))?;
        let uid = created.uid().unwrap_or_default();
        let thread = Thread::from(cause);

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
        let namespace = self
            .saw(&thread, "hub", &words, |seen| {
                let labelled = seen.object.labels().get("meta.datumapis.com/upstream-cluster-name");
                let ours = labelled.is_some_and(|plane| *plane == format!("cluster-{project}"));
                let found = is(seen, "hub", Kind::Namespace, "", &space) && ours;
                found.then(|| seen.object.clone())
            })
            .await?;
        self.saw(&thread, "hub", &format!("PropagationPolicy for city {city}"), |seen| {
            let code = seen.object.labels().get("topology.datum.net/city-code");
            let found = seen.kind == Kind::Policy && seen.object.namespace().as_deref() == Some(&*space);
            (found && code.is_some_and(|code| code == city)).then_some(())
        })
        .await?;
        let deployment = self
            .saw(&thread, "hub", &format!("WorkloadDeployment {NAME}, with its origin"), |seen| {
                let origin = seen.object.annotations().get("federation.datumapis.com/source-uid");
                let found = is(seen, "hub", Kind::Deployment, &space, NAME) && origin == Some(&uid);
                found.then(|| seen.object.clone())
            })
            .await?;
        let cell = self.cell.name;
        let in_cell = self
            .saw(&thread, cell, "Karmada has brought it to the cell of that city", |seen| {
                is(seen, cell, Kind::Deployment, &space, NAME).then(|| seen.object.clone())
            })
            .await?;
        let took = thread.last.get() - cause;
        Ok((OnHub { space, namespace, deployment, in_cell, project_uid: uid }, took))
    }

    /// From the cell's report to the status in the project.
    async fn status(&self, hub: &OnHub) -> Result<Duration, Error> {
        let (cell, space) = (self.cell.name, &*hub.space);
        self.voice.act(cell, "SIMULATED CELL: reports one ready replica in the deployment's status");
        let cause = Instant::now();
        self.cell.report(&hub.in_cell).await?;
        let thread = Thread::from(cause);
        let ready = |seen: &Sighting| {
            let status = &seen.object.data["status"];
            status["readyReplicas"] == 1 && is_true(status, "Available")
        };
        self.saw(&thread, cell, "the status stands in the cell", |seen| {
            (is(seen, cell, Kind::Deployment, space, NAME) && ready(seen)).then_some(())
        })
        .await?;
        self.saw(&thread, "hub", "Karmada has carried it to the hub", |seen| {
            (is(seen, "hub", Kind::Deployment, space, NAME) && ready(seen)).then_some(())
        })
        .await?;
        self.saw(
            &thread,
            self.project,
            "fedhub has carried it to the project: Available=True, 1 ready",
            |seen| (self.is_mine(seen, &hub.project_uid) && ready(seen)).then_some(()),
        )
        .await?;
        Ok(thread.last.get() - cause)
    }

    /// From an Instance on the hub to its projection.
    async fn instance(&self, hub: &OnHub) -> Result<Duration, Error> {
        let (project, name) = (self.project, format!("{NAME}-0"));
        self.voice.act(
            self.cell.name,
            &format!("SIMULATED CELL: makes Instance {name} and writes a copy to the hub"),
        );
        let thread = Thread::from(Instant::now());
        let written = self.cell.write_back(&hub.in_cell, &hub.deployment, &hub.namespace).await?;
        let owned_there = format!("Instance {name}, owned by the hub's WorkloadDeployment");
        self.saw(&thread, "hub", &owned_there, |seen| {
            is(seen, "hub", Kind::Instance, &hub.space, &name).then_some(())
        })
        .await?;
        let on_hub = thread.last.get();
        self.saw(
            &thread,
            project,
            "fedhub has projected it, owned by the project's WorkloadDeployment",
            |seen| {
                let owned = seen.object.owner_references().iter().any(|owner| owner.uid == hub.project_uid);
                (is(seen, project, Kind::Instance, NAMESPACE, &name) && owned).then_some(())
            },
        )
        .await?;
        let took = thread.last.get() - on_hub;

        self.voice.act(self.cell.name, &format!("SIMULATED CELL: reports that {name} runs"));
        let thread = Thread::from(Instant::now());
        self.cell.report_instance(&written).await?;
        self.saw(&thread, project, "the projection says so: Ready=True", |seen| {
            let ready = is_true(&seen.object.data["status"], "Ready");
            (is(seen, project, Kind::Instance, NAMESPACE, &name) && ready).then_some(())
        })
        .await?;
        Ok(took)
    }

    /// No other cell has the deployment.
    async fn nowhere_else(&self, hub: &OnHub) -> Result<(), Error> {
        for (other, client) in &self.others {
            let api: Api<DynamicObject> =
                Api::namespaced_with(client.clone(), &hub.space, &Kind::Deployment.resource());
            let list = api.list(&ListParams::default()).await;
            let list = list.map_err(crate::Error::api(format!("list WorkloadDeployments on {other}")))?;
            if !list.items.is_empty() {
                return Err(Error::Strayed { cell: other, namespace: hub.space.clone() });
            }
            say(&format!("{:>20}  {other:<11} has none of it, as it should be", ""));
        }
        Ok(())
    }

    fn is_mine(&self, seen: &Sighting, uid: &str) -> bool {
        is(seen, self.project, Kind::Deployment, NAMESPACE, NAME) && seen.object.uid().as_deref() == Some(uid)
    }

    /// Waits for a step and prints it with the time since the last one of its thread and since its cause.
    async fn saw<T>(
        &self,
        thread: &Thread,
        plane: &'static str,
        what: &str,
        find: impl Fn(&Sighting) -> Option<T>,
    ) -> Result<T, Error> {
        let (at, value) = self.sight.first(LIMIT, find).await.ok_or_else(|| Error::NotSeen {
            plane,
            what: what.to_owned(),
            seconds: LIMIT.as_secs(),
            trouble: self.sight.trouble().map(|words| format!("; {words}")).unwrap_or_default(),
            logs: self.logs.clone(),
        })?;
        // Each plane has a watch of its own, so that two steps may be seen in another order than they were done in.
        let last = thread.last.replace(thread.last.get().max(at));
        let hop = at.saturating_duration_since(last);
        self.voice.saw(hop, at.saturating_duration_since(thread.cause), plane, what);
        Ok(value)
    }
}

/// What stands on the hub and in the cell for a deployment.
struct OnHub {
    /// The hub namespace's name.
    space: String,
    namespace: DynamicObject,
    deployment: DynamicObject,
    in_cell: DynamicObject,
    project_uid: String,
}

/// Whether an object is the one of that place and name.
fn is(seen: &Sighting, plane: &str, kind: Kind, namespace: &str, name: &str) -> bool {
    seen.plane == plane
        && seen.kind == kind
        && seen.object.metadata.namespace.as_deref().unwrap_or_default() == namespace
        && seen.object.metadata.name.as_deref() == Some(name)
}
