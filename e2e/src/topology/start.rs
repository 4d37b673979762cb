//! The way from nothing to usable planes, and from an emptied hub back to a usable one.
//!
//! Order matters in four places: etcd serves before an API server starts; the compute CRDs are served before
//! any controller looks for kinds; Karmada's webhook serves before it is registered, for from then on writes
//! wait for it; and it is registered before the first policy is made.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{try_join, try_join_all};
use kube::Client;

use super::commands::{
    AGGREGATED, CONTROLLER_MANAGER, CONTROLLER_MANAGER_USER, CONTROLLERS, KARMADA, KARMADA_USER, Programs,
    SCHEDULER, WEBHOOK, api_server_process, controller_manager_process, etcd_process, port_names,
};
use super::kubeconfig::{self, Credential};
use super::layout::Layout;
use super::options::Options;
use super::pki::{self, Pki};
use super::planes::{ETCDS, HUB, Kind, MANAGEMENT, Plane};
use super::state::State;
use super::steps::Steps;
use super::supervisor::{Manner, Supervisor};
use super::{admission, identities, ports, probe};
use crate::Error;

/// Who tests are on every plane.
const ADMINISTRATOR: &str = "fedhub-e2e-admin";

/// Starts everything of a fresh instance. When this fails or is dropped, what it started has ended.
pub async fn start(options: &Options, layout: &Layout, programs: &Programs) -> Result<Supervisor, Error> {
    let ports = ports::reserve(&ports::ports_directory(), layout, &port_names(options.cells))?;
    layout.create()?;
    let state = State::new(layout, options.cells, ports)?;
    state.save(layout)?;
    let pki = Pki::create(&layout.pki())?;
    admission::write(layout, &pki, options.cells.planes())?;
    let policy = layout.audit_policy();
    fs::write(&policy, include_str!("audit-policy.yaml")).map_err(Error::file("write", &policy))?;
    let supervisor = Supervisor::new(layout.clone(), state.clone(), true);
    let steps = Steps {
        layout,
        programs,
        cells: state.cells,
        ports: &state.ports,
        supervisor: &supervisor,
        ca: &pki.ca(),
        cell_token: &pki.cell_token,
        crds: &options.crds,
        progress: &options.progress,
    };
    write_kubeconfigs(&steps, &pki)?;
    run(&steps).await?;
    supervisor.disarm()?;
    Ok(supervisor)
}

async fn run(steps: &Steps<'_>) -> Result<(), Error> {
    for etcd in ETCDS {
        steps.supervisor.start(steps.commands().etcd(etcd))?;
    }
    let etcds = ETCDS.map(etcd_process);
    try_join_all(etcds.iter().map(|process| steps.serves(process))).await?;
    steps.progress.step(format!("{} etcds serve", etcds.len()));

    let planes: Vec<_> = steps.cells.planes().collect();
    for plane in &planes {
        steps.supervisor.start(steps.commands().api_server(plane))?;
    }
    let manifests = steps.build_manifests().await?;
    let clients = try_join_all(planes.iter().map(|plane| steps.prepare(plane, &manifests))).await?;
    steps.progress.step("every plane has its CRDs, its roles and its controllers");

    let hub = client(&clients, HUB)?;
    let federation = steps.federate(hub, &manifests);
    let controller_managers = planes.iter().filter(|plane| plane.has_controller_manager());
    let controller_managers = try_join_all(
        controller_managers
            .map(|plane| async { steps.serves(&controller_manager_process(plane.name)).await }),
    );
    try_join(federation, controller_managers).await?;
    identities::publish(client(&clients, MANAGEMENT)?, steps.layout).await?;
    for (cell, city) in steps.cells.iter() {
        identities::publish_in_cell(client(&clients, cell.name)?, steps.layout, cell, city).await?;
    }

    probe::propagate(hub, &clients).await?;
    steps.progress.step("a probe went from the hub into every cell and left it again");
    Ok(())
}

/// Empties the hub's etcd, Karmada's own part included, and sets the hub up again. The cells keep what they
/// have; the project and management planes only get fedhub's new token for the hub.
pub async fn rebuild_hub(
    options: &Options,
    layout: &Layout,
    programs: &Programs,
    supervisor: &Arc<Supervisor>,
) -> Result<(), Error> {
    let state = supervisor.state();
    let (ca, cell_token) = pki::read(&layout.pki())?;
    let steps = Steps {
        layout,
        programs,
        cells: state.cells,
        ports: &state.ports,
        supervisor,
        ca: &ca,
        cell_token: &cell_token,
        crds: &options.crds,
        progress: &options.progress,
    };
    let hub = Plane::named(HUB)?;
    let etcd = etcd_process(hub.etcd);
    let api_server = api_server_process(HUB);
    let controller_manager = controller_manager_process(HUB);
    let processes = [CONTROLLERS, SCHEDULER, WEBHOOK, &controller_manager, AGGREGATED, &api_server, &etcd]
        .map(str::to_owned);
    supervisor.stop(processes.to_vec(), Manner::InOrder).await?;
    let data = layout.etcd_data(hub.etcd);
    fs::remove_dir_all(&data).map_err(Error::file("remove", &data))?;
    steps.progress.step("hub: emptied");

    supervisor.start(steps.commands().etcd(hub.etcd))?;
    steps.serves(&etcd).await?;
    supervisor.start(steps.commands().api_server(hub))?;
    let manifests = steps.build_manifests().await?;
    let (_, client) = steps.prepare(hub, &manifests).await?;
    try_join(steps.federate(&client, &manifests), steps.serves(&controller_manager)).await?;
    let management = kubeconfig::client(&layout.kubeconfig(MANAGEMENT)).await?;
    identities::publish(&management, layout).await
}

/// The administrators' and the components' kubeconfigs.
fn write_kubeconfigs(steps: &Steps<'_>, pki: &Pki) -> Result<(), Error> {
    let administrator = pki.master(ADMINISTRATOR)?;
    let controller_manager = pki.master(CONTROLLER_MANAGER_USER)?;
    let karmada = pki.master(KARMADA_USER)?;
    for plane in steps.cells.planes() {
        let server = steps.server(plane.name)?;
        let write = |path: PathBuf, certificate| {
            kubeconfig::write(&path, plane.name, &server, steps.ca, Credential::Certificate(certificate))
        };
        write(steps.layout.kubeconfig(plane.name), &administrator)?;
        if plane.has_controller_manager() {
            write(steps.layout.component_kubeconfig(CONTROLLER_MANAGER, plane.name), &controller_manager)?;
        }
        if plane.kind == Kind::Hub {
            write(steps.layout.component_kubeconfig(KARMADA, plane.name), &karmada)?;
        }
    }
    Ok(())
}

fn client<'c>(clients: &'c [(&str, Client)], plane: &str) -> Result<&'c Client, Error> {
    let known = || clients.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    clients.iter().find(|(name, _)| *name == plane).map(|(_, client)| client).ok_or_else(|| Error::Unknown {
        kind: "plane",
        name: plane.to_owned(),
        known: known(),
    })
}
