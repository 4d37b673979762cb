//! Which change an Instance belongs to.

use fedhub_core::names::WORKLOAD_DEPLOYMENT_NAME;
use fedhub_core::object::{Key, Kind, ObjectView};
use fedhub_core::trace::TracedGeneration;
use fedhub_planes::Plane;

/// The change that the cell has of the Instance's WD.
pub(crate) fn change_of(cell: &Plane, instance: &Key) -> Option<TracedGeneration> {
    let of = cell.store(Kind::Instance).object(&instance.namespace, &instance.name)?;
    let wd = of.label(WORKLOAD_DEPLOYMENT_NAME)?;
    TracedGeneration::of_mark(&*cell.store(Kind::WorkloadDeployment).object(&instance.namespace, wd)?)
}
