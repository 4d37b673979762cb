//! The steps that bring a plane, and the hub in particular, from a started API server to where it is of use.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::{try_join, try_join_all};
use kube::api::DynamicObject;
use kube::{Client, ResourceExt};

use super::commands::{AGGREGATED, CONTROLLERS, Commands, Programs, SCHEDULER, WEBHOOK, api_server_process};
use super::hub::Hub;
use super::identities::{self, Holder};
use super::layout::Layout;
use super::planes::{Cells, HUB, Kind, Plane};
use super::supervisor::Supervisor;
use super::wait::until;
use super::{crds, kubeconfig, manifests, ready};
use crate::Error;
use crate::progress::Progress;

/// What every step needs.
pub struct Steps<'a> {
    /// The instance's files.
    pub layout: &'a Layout,
    /// The programs.
    pub programs: &'a Programs,
    /// Which cells the instance has.
    pub cells: Cells,
    /// Where everything listens.
    pub ports: &'a BTreeMap<String, u16>,
    /// What starts, watches and writes down processes.
    pub supervisor: &'a Supervisor,
    /// The CA of all servers, in PEM.
    pub ca: &'a str,
    /// Karmada's token in the cells.
    pub cell_token: &'a str,
    /// The kustomization with the compute CRDs.
    pub crds: &'a Path,
    /// Where it says what it does.
    pub progress: &'a Progress,
}

/// Directories of `deploy/`, by the plane that they are applied to, beside the CRDs.
struct Applied {
    management: [&'static str; 2],
    project: [&'static str; 2],
    hub: [&'static str; 2],
    cell: [&'static str; 1],
}

/// What `docs/install.md` has an installer apply, and nothing else. Each cell gets its own name and city
/// afterwards.
const APPLIED: Applied = Applied {
    management: ["overlays/management-plane", "components/management-for-cells"],
    project: ["components/project-plane", "components/project-plane-for-cells"],
    hub: ["components/hub", "components/hub-for-cells"],
    cell: ["overlays/cell"],
};

/// The kustomizations of `deploy/`, built.
pub struct Manifests {
    crds: Vec<DynamicObject>,
    /// Simulated services': networking in the cells, quota beside the projects.
    external_crds: Vec<DynamicObject>,
    management: Vec<DynamicObject>,
    project_plane: Vec<DynamicObject>,
    hub: Vec<DynamicObject>,
    cell: Vec<DynamicObject>,
}

impl Manifests {
    /// The CRDs that a plane serves.
    fn crds(&self, plane: &Plane) -> Vec<DynamicObject> {
        let own = if plane.serves_compute() { self.crds.as_slice() } else { &[] };
        let group = match plane.kind {
            Kind::Cell { .. } => ".networking.datumapis.com",
            Kind::Project => ".quota.miloapis.com",
            Kind::Hub | Kind::Management => return own.to_vec(),
        };
        let external = self.external_crds.iter().filter(|crd| crd.name_any().ends_with(group));
        own.iter().chain(external).cloned().collect()
    }
}

impl Steps<'_> {
    /// Makes command lines.
    pub fn commands(&self) -> Commands<'_> {
        Commands::new(self.layout, self.programs, self.ports)
    }

    /// Brings one plane to where controllers may work on it.
    pub async fn prepare(
        &self,
        plane: &'static Plane,
        manifests: &Manifests,
    ) -> Result<(&'static str, Client), Error> {
        let client = kubeconfig::client(&self.layout.kubeconfig(plane.name)).await?;
        self.serves(&api_server_process(plane.name)).await?;
        self.progress.step(format!("{}: API server serves", plane.name));

        if plane.kind == Kind::Hub {
            self.supervisor.start(self.commands().aggregated_api_server(plane))?;
            self.supervisor.start(self.commands().webhook())?;
            self.hub(&client).install().await?;
            self.progress.step("hub: Karmada's CRDs are established");
        }
        crds::install(&client, plane.name, &manifests.crds(plane)).await?;
        if plane.has_controller_manager() {
            self.supervisor.start(self.commands().controller_manager(plane))?;
        }
        let own = match plane.kind {
            Kind::Management => &manifests.management,
            Kind::Project => &manifests.project_plane,
            Kind::Cell { .. } => &manifests.cell,
            // The hub's include what only Karmada's webhook lets in.
            Kind::Hub => return Ok((plane.name, client)),
        };
        manifests::apply_all(&client, plane.name, own).await?;
        self.issue(&client, plane).await?;
        Ok((plane.name, client))
    }

    /// Lets Karmada work: webhooks, the interpreter, controllers, cells.
    pub async fn federate(&self, client: &Client, manifests: &Manifests) -> Result<(), Error> {
        let hub = self.hub(client);
        try_join(self.serves(AGGREGATED), self.serves(WEBHOOK)).await?;
        hub.cluster_api_served().await?;
        hub.register_webhooks().await?;
        self.progress.step("hub: Karmada's API and webhook serve");

        self.supervisor.start(self.commands().scheduler())?;
        self.supervisor.start(self.commands().controllers())?;
        let roles = async {
            self.apply_hub_manifests(client, &manifests.hub).await?;
            identities::introduce_cells(client, self.layout, self.cells).await?;
            self.issue(client, Plane::named(HUB)?).await
        };
        let cells = async {
            hub.register_cells().await?;
            try_join(self.serves(SCHEDULER), self.serves(CONTROLLERS)).await?;
            let state = self.supervisor.state();
            let stopped = |name: &str| state.processes.iter().any(|p| p.command.name == name && p.stopped);
            hub.cells_ready(!manifests.crds.is_empty(), |cell| !stopped(&api_server_process(cell.name))).await
        };
        try_join(roles, cells).await?;
        self.progress.step("hub: every cell is Ready");
        Ok(())
    }

    /// Applies the hub's manifests again while the API server has not connected to the new webhook yet.
    async fn apply_hub_manifests(&self, client: &Client, objects: &[DynamicObject]) -> Result<(), Error> {
        until("the hub to take its manifests", Duration::from_secs(30), || async {
            Ok(manifests::apply_all(client, HUB, objects).await?)
        })
        .await
    }

    /// Builds what `deploy/` has for the planes.
    pub async fn build_manifests(&self) -> Result<Manifests, Error> {
        let kubectl = self.programs.kubernetes.program("kubectl");
        let deploy = crate::repository().join("deploy");
        let build = |directory: PathBuf| {
            let kubectl = &kubectl;
            async move { manifests::kustomize(kubectl, &directory).await }
        };
        let crds = async {
            if self.crds.join("kustomization.yaml").is_file() {
                return build(self.crds.to_path_buf()).await;
            }
            let missing = self.crds.display();
            self.progress.warn(format!("{missing} is missing: no plane will serve compute.datumapis.com"));
            Ok(Vec::new())
        };
        // In a vector, for together they would be a large future.
        let all = |directories: &'static [&'static str]| {
            let directories: Vec<_> = directories.iter().map(|of| deploy.join(of)).collect();
            async move {
                let lists = try_join_all(directories.into_iter().map(build)).await?;
                Ok::<_, Error>(lists.into_iter().flatten().collect())
            }
        };
        Ok(Manifests {
            crds: crds.await?,
            external_crds: all(&["external-crds"]).await?,
            management: all(&APPLIED.management).await?,
            project_plane: all(&APPLIED.project).await?,
            hub: all(&APPLIED.hub).await?,
            cell: all(&APPLIED.cell).await?,
        })
    }

    /// Gets fedhub's roles the identities that they have on a plane.
    async fn issue(&self, client: &Client, plane: &Plane) -> Result<(), Error> {
        let server = self.server(plane.name)?;
        for holder in Holder::on(plane, self.cells) {
            identities::issue(holder, client, self.layout, plane.name, &server, self.ca).await?;
        }
        Ok(())
    }

    /// Waits until a process serves.
    pub async fn serves(&self, process: &str) -> Result<(), Error> {
        ready::serves(self.supervisor, self.layout, process).await
    }

    /// The URL of a plane's API server.
    pub fn server(&self, plane: &str) -> Result<String, Error> {
        Ok(format!("https://127.0.0.1:{}", self.supervisor.state().port(&api_server_process(plane))?))
    }

    fn hub<'b>(&'b self, client: &'b Client) -> Hub<'b> {
        Hub {
            client,
            karmada: &self.programs.karmada,
            cells: self.cells,
            ports: self.ports,
            ca: self.ca,
            cell_token: self.cell_token,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_the_planes_have_is_what_an_installer_applies() {
        let guide = std::fs::read_to_string(crate::repository().join("docs/install.md")).unwrap();
        let applied = |context: &str| -> BTreeSet<&str> {
            let command = format!("kubectl --context {context} apply --server-side -k deploy/");
            guide.lines().filter_map(|line| line.strip_prefix(&command)).collect()
        };
        let with_crds = |directories: &[&'static str]| directories.iter().copied().chain(["crds"]).collect();
        assert_eq!(applied("MANAGEMENT"), BTreeSet::from(APPLIED.management));
        assert_eq!(applied("PROJECT"), with_crds(&APPLIED.project));
        assert_eq!(applied("HUB"), with_crds(&APPLIED.hub));
        // A copy of it, with the cell's name and city.
        assert!(guide.contains("\ncp -r deploy/overlays/cell deploy/overlays/cell-dfw\n"));
        let with_copies: BTreeSet<&str> = with_crds(&APPLIED.cell);
        assert_eq!(
            applied("CELL"),
            with_copies
                .iter()
                .map(|of| if *of == "overlays/cell" { "overlays/cell-dfw" } else { of })
                .collect()
        );
    }
}
