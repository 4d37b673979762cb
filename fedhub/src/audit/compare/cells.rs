//! Cells that were given, against the hub.

use fedhub_api::cells::CellSource;
use fedhub_api::facts::instance::deployment_name;
use fedhub_core::names::UPSTREAM_NAMESPACE;
use fedhub_core::object::{Kind, ObjectView, PlaneId};
use fedhub_planes::ProjectNamespace;

use super::context::{Context, Draft, Findings, key, key_of};
use crate::audit::finding::Discrepancy;
use crate::audit::world::{Cell, Part, Stored, changed};

pub fn compare(context: &Context<'_>, findings: &mut Findings<'_>) {
    for (name, cell) in &context.world.cells {
        deployments(context, name, cell, findings);
        instances(context, name, cell, findings);
        copies(context, name, cell, findings);
    }
}

/// The project plane of a hub namespace; `None` where nothing in it is to be judged. A namespace that the hub
/// does not have was some project's.
fn plane_of(context: &Context<'_>, namespace: &str) -> Option<String> {
    match context.world.hub.namespaces.get("", namespace) {
        Some(there) => ProjectNamespace::from_hub_namespace(&there.object).map(|home| home.plane.to_string()),
        None if context.world.only.is_some() => None,
        None => Some(String::new()),
    }
}

fn draft(cell: &str, discrepancy: Discrepancy, kind: Kind, stored: &Stored, words: &str) -> Draft {
    let namespace = stored.object.namespace();
    let name = stored.object.name();
    Draft {
        discrepancy,
        subject: key(PlaneId::Cell, kind, namespace, name),
        detail: format!("cell {cell}: {words}"),
        since: changed(&stored.object, Part::Spec),
        rests_on: vec![key(PlaneId::Hub, kind, namespace, name)],
    }
}

/// WDs that the hub does not have. Karmada takes a while to delete what the hub no longer has.
fn deployments(context: &Context<'_>, cell: &str, read: &Cell, findings: &mut Findings<'_>) {
    for wd in read.deployments.iter().filter(|wd| wd.object.label(UPSTREAM_NAMESPACE).is_some()) {
        let namespace = wd.object.namespace();
        let name = wd.object.name();
        let on_hub = context.world.hub.deployments.get(namespace, name).is_some();
        if let (false, Some(plane)) = (on_hub, plane_of(context, namespace)) {
            let words = "the hub has no WD of its name";
            findings.add(&plane, draft(cell, Discrepancy::CellWdLeft, Kind::WorkloadDeployment, wd, words));
        }
    }
}

/// Instances of WDs that the hub has, without a copy.
fn instances(context: &Context<'_>, cell: &str, read: &Cell, findings: &mut Findings<'_>) {
    for instance in read.instances.iter().filter(|it| !it.object.is_terminating()) {
        let namespace = instance.object.namespace();
        let name = instance.object.name();
        let deployment = deployment_name(&instance.object);
        let has_wd = deployment.is_some_and(|wd| context.world.hub.deployments.get(namespace, wd).is_some());
        let has_copy = context.world.hub.instances.get(namespace, name).is_some();
        if let (true, false, Some(plane)) = (has_wd, has_copy, plane_of(context, namespace)) {
            let words = "the hub has no copy of it";
            findings.add(&plane, draft(cell, Discrepancy::CopyMissing, Kind::Instance, instance, words));
        }
    }
}

/// Copies on the hub whose mark names an Instance that this very cell does not have.
fn copies(context: &Context<'_>, cell: &str, read: &Cell, findings: &mut Findings<'_>) {
    for copy in context.world.hub.instances.iter().filter(|it| !it.object.is_terminating()) {
        let Some(source) = CellSource::from_object(&copy.object) else { continue };
        let is_its = !read.uid.is_empty() && source.cell_uid.as_deref() == Some(&read.uid);
        let original = read.instances.get(copy.object.namespace(), copy.object.name());
        let stands = original.is_some_and(|it| it.object.uid() == source.instance_uid);
        if !is_its || stands {
            continue;
        }
        if let Some(plane) = plane_of(context, copy.object.namespace()) {
            let words = "it has no Instance of that UID";
            let draft = draft(cell, Discrepancy::CopyLeft, Kind::Instance, copy, words);
            findings.add(&plane, Draft { subject: key_of(PlaneId::Hub, Kind::Instance, copy), ..draft });
        }
    }
}
