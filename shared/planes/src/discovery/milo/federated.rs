//! Which project planes the hub has something of.

use fedhub_core::names::PlaneName;
use fedhub_core::object::Kind;

use crate::Planes;

impl Planes {
    /// The project planes that the hub has something of: a hub namespace that is empty stays behind of every
    /// project that ever was (F11). None, where no WDs are watched on project planes.
    pub(crate) fn federated(&self) -> Vec<PlaneName> {
        if !self.watches_on_projects(Kind::WorkloadDeployment) {
            return Vec::new();
        }
        let named = self.tenants().planes().into_iter();
        named.filter(|(_, namespaces)| self.holds_any(namespaces)).map(|(plane, _)| plane).collect()
    }

    /// Whether the hub has something of that plane.
    pub(crate) fn is_federated(&self, plane: &PlaneName) -> bool {
        self.holds_any(&self.tenants().of_plane(plane))
    }

    /// Whether the hub has WDs of that plane, so that those that they are of may hold our finalizer.
    pub(crate) fn has_deployments(&self, plane: &PlaneName) -> bool {
        self.tenants().of_plane(plane).iter().any(|namespace| self.holds(Kind::WorkloadDeployment, namespace))
    }

    fn holds_any(&self, hub_namespaces: &[String]) -> bool {
        let kinds = [Kind::WorkloadDeployment, Kind::PropagationPolicy];
        hub_namespaces.iter().any(|namespace| kinds.iter().any(|kind| self.holds(*kind, namespace)))
    }

    fn holds(&self, kind: Kind, hub_namespace: &str) -> bool {
        self.anchor().store(kind).any(Some(hub_namespace), |_| true)
    }
}
