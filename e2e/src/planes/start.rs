//! The way from nothing to usable planes.
//!
//! Order matters in four places: etcd serves before an API server starts; the compute CRDs are served before any
//! controller looks for kinds; Karmada's webhook serves before it is registered, for from then on writes wait for it;
//! and it is registered before the first policy is made.

use std::{path::PathBuf, time::Duration};

use futures::future::{try_join, try_join_all};
use kube::{Client, api::DynamicObject};

use super::{
    Options,
    commands::{
        AGGREGATED, CONTROLLER_MANAGER, CONTROLLER_MANAGER_USER, CONTROLLERS, Commands, KARMADA,
        KARMADA_USER, Programs, SCHEDULER, WEBHOOK, api_server_process, controller_manager_process,
        etcd_process, port_names,
    },
    crds,
    hub::Hub,
    identities,
    kubeconfig::{self, Credential},
    layout::Layout,
    manifests,
    pki::Pki,
    ports, probe, ready,
    state::State,
    supervisor::Supervisor,
    topology::{ETCDS, HUB, Kind, MANAGEMENT, PLANES, Plane},
};
use crate::{Error, progress::Progress};

/// Who tests are on every plane.
const ADMINISTRATOR: &str = "fedhub-e2e-admin";

/// Starts everything of a fresh instance. When this fails or is dropped, what it started has ended.
pub async fn start(options: &Options, layout: &Layout, programs: &Programs) -> Result<Supervisor, Error> {
    let ports = ports::reserve(&super::ports_directory(), layout, &port_names())?;
    layout.create()?;
    let state = State::new(layout, ports)?;
    state.save(layout)?;
    let pki = Pki::create(&layout.pki())?;
    let policy = layout.audit_policy();
    std::fs::write(&policy, include_str!("audit-policy.yaml")).map_err(Error::file("write", &policy))?;
    let supervisor = Supervisor::new(layout.clone(), state.clone(), true);
    let start = Start {
        options,
        layout,
        programs,
        pki: &pki,
        ca: pki.ca(),
        state: &state,
        commands: Commands::new(layout, programs, &state.ports),
        supervisor: &supervisor,
        progress: &options.progress,
    };
    start.write_kubeconfigs()?;
    start.run().await?;
    supervisor.disarm()?;
    Ok(supervisor)
}

struct Start<'a> {
    options: &'a Options,
    layout: &'a Layout,
    programs: &'a Programs,
    pki: &'a Pki,
    ca: String,
    state: &'a State,
    commands: Commands<'a>,
    supervisor: &'a Supervisor,
    progress: &'a Progress,
}

/// The kustomizations of `deploy/`, built.
struct Manifests {
    crds: Vec<DynamicObject>,
    base: Vec<DynamicObject>,
    project_plane: Vec<DynamicObject>,
    hub: Vec<DynamicObject>,
}

impl Start<'_> {
    async fn run(&self) -> Result<(), Error> {
        for etcd in ETCDS {
            self.supervisor.start(self.commands.etcd(etcd))?;
        }
        let etcds = ETCDS.map(etcd_process);
        try_join_all(etcds.iter().map(|process| self.serves(process))).await?;
        self.progress.step(format!("{} etcds serve", etcds.len()));

        for plane in &PLANES {
            self.supervisor.start(self.commands.api_server(plane))?;
        }
        let manifests = self.build_manifests().await?;
        let clients = try_join_all(PLANES.iter().map(|plane| self.prepare(plane, &manifests))).await?;
        self.progress.step("every plane has its CRDs, its roles and its controllers");

        let hub = client(&clients, HUB)?;
        let federation = self.federate(hub, &manifests);
        let controller_managers = PLANES.iter().filter(|plane| plane.has_controller_manager());
        let controller_managers = try_join_all(
            controller_managers
                .map(|plane| async { self.serves(&controller_manager_process(plane.name)).await }),
        );
        try_join(federation, controller_managers).await?;
        identities::publish(client(&clients, MANAGEMENT)?, self.layout).await?;

        probe::propagate(hub, &clients).await?;
        self.progress.step("a probe went from the hub into every cell and left it again");
        Ok(())
    }

    /// Brings one plane to where controllers may work on it.
    async fn prepare(&self, plane: &Plane, manifests: &Manifests) -> Result<(&'static str, Client), Error> {
        let known = Plane::named(plane.name).map_or("", |plane| plane.name);
        let client = kubeconfig::client(&self.layout.kubeconfig(plane.name)).await?;
        self.serves(&api_server_process(plane.name)).await?;
        self.progress.step(format!("{}: API server serves", plane.name));

        if plane.kind == Kind::Hub {
            self.supervisor.start(self.commands.aggregated_api_server())?;
            self.supervisor.start(self.commands.webhook())?;
            self.hub(&client).install().await?;
            self.progress.step("hub: Karmada's CRDs are established");
        }
        if plane.serves_compute() {
            crds::install(&client, plane.name, &manifests.crds).await?;
        }
        if plane.has_controller_manager() {
            self.supervisor.start(self.commands.controller_manager(plane))?;
        }
        match plane.kind {
            Kind::Management => manifests::apply_all(&client, plane.name, &manifests.base).await?,
            Kind::Project => manifests::apply_all(&client, plane.name, &manifests.project_plane).await?,
            // The hub's include what only Karmada's webhook lets in.
            Kind::Hub | Kind::Cell { .. } => {}
        }
        if plane.kind != Kind::Hub && plane.knows_fedhub() {
            self.issue(&client, plane.name).await?;
        }
        Ok((known, client))
    }

    /// Lets Karmada work: webhooks, the interpreter, controllers, cells.
    async fn federate(&self, client: &Client, manifests: &Manifests) -> Result<(), Error> {
        let hub = self.hub(client);
        try_join(self.serves(AGGREGATED), self.serves(WEBHOOK)).await?;
        hub.cluster_api_served().await?;
        hub.register_webhooks().await?;
        self.progress.step("hub: Karmada's API and webhook serve");

        self.supervisor.start(self.commands.scheduler())?;
        self.supervisor.start(self.commands.controllers())?;
        let roles = async {
            self.apply_hub_manifests(client, &manifests.hub).await?;
            self.issue(client, HUB).await
        };
        let cells = async {
            hub.register_cells().await?;
            try_join(self.serves(SCHEDULER), self.serves(CONTROLLERS)).await?;
            hub.cells_ready(!manifests.crds.is_empty()).await
        };
        try_join(roles, cells).await?;
        self.progress.step("hub: every cell is Ready");
        Ok(())
    }

    /// Applies the hub's manifests again while the API server has not connected to the new webhook yet.
    async fn apply_hub_manifests(&self, client: &Client, objects: &[DynamicObject]) -> Result<(), Error> {
        super::wait::until("the hub to take its manifests", Duration::from_secs(30), || async {
            Ok(manifests::apply_all(client, HUB, objects).await?)
        })
        .await
    }

    async fn build_manifests(&self) -> Result<Manifests, Error> {
        let kubectl = self.programs.kubernetes.program("kubectl");
        let deploy = crate::repository().join("deploy");
        let build = |directory: PathBuf| {
            let kubectl = &kubectl;
            async move { manifests::kustomize(kubectl, &directory).await }
        };
        let crds = async {
            if self.options.crds.join("kustomization.yaml").is_file() {
                return build(self.options.crds.clone()).await;
            }
            let missing = self.options.crds.display();
            self.progress.warn(format!("{missing} is missing: no plane will serve compute.datumapis.com"));
            Ok(Vec::new())
        };
        let (crds, base, project_plane, hub) = tokio::try_join!(
            crds,
            build(deploy.join("base")),
            build(deploy.join("components/project-plane")),
            build(deploy.join("components/hub")),
        )?;
        Ok(Manifests { crds, base, project_plane, hub })
    }

    /// The administrators' and the components' kubeconfigs.
    fn write_kubeconfigs(&self) -> Result<(), Error> {
        let administrator = self.pki.master(ADMINISTRATOR)?;
        let controller_manager = self.pki.master(CONTROLLER_MANAGER_USER)?;
        let karmada = self.pki.master(KARMADA_USER)?;
        for plane in PLANES {
            let server = self.server(plane.name)?;
            let write = |path: PathBuf, certificate| {
                kubeconfig::write(&path, plane.name, &server, &self.ca, Credential::Certificate(certificate))
            };
            write(self.layout.kubeconfig(plane.name), &administrator)?;
            if plane.has_controller_manager() {
                write(self.layout.component_kubeconfig(CONTROLLER_MANAGER, plane.name), &controller_manager)?;
            }
            if plane.kind == Kind::Hub {
                write(self.layout.component_kubeconfig(KARMADA, plane.name), &karmada)?;
            }
        }
        Ok(())
    }

    async fn issue(&self, client: &Client, plane: &str) -> Result<(), Error> {
        identities::issue(client, self.layout, plane, &self.server(plane)?, &self.ca).await
    }

    async fn serves(&self, process: &str) -> Result<(), Error> {
        ready::serves(self.supervisor, self.layout, process).await
    }

    fn server(&self, plane: &str) -> Result<String, Error> {
        Ok(format!("https://127.0.0.1:{}", self.state.port(&api_server_process(plane))?))
    }

    fn hub<'b>(&'b self, client: &'b Client) -> Hub<'b> {
        Hub {
            client,
            karmada: &self.programs.karmada,
            ports: &self.state.ports,
            ca: &self.ca,
            cell_token: &self.pki.cell_token,
        }
    }
}

fn client<'c>(clients: &'c [(&str, Client)], plane: &str) -> Result<&'c Client, Error> {
    clients.iter().find(|(name, _)| *name == plane).map(|(_, client)| client).ok_or_else(|| Error::Unknown {
        kind: "plane",
        name: plane.to_owned(),
        known: String::new(),
    })
}
