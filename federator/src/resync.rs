//! Asking Karmada to apply hub WDs anew whose cell it passes nothing on of (F8), see [`crate::stall`].

use fedhub_core::errors::Error;
use fedhub_core::object::Key;

use crate::Federator;
use crate::glance::Sight;
use crate::moving::Bound;

impl Federator {
    /// Whether Karmada is to apply the hub WD anew: asked only where it is that WD's turn.
    pub(crate) async fn is_stalled(&self, key: &Key, sight: &Sight) -> Result<bool, Error> {
        if !self.stalls.take_turn(key) {
            return Ok(false);
        }
        let city = sight.project.deployment().and_then(|wd| wd.city.as_deref()).unwrap_or_default();
        let bound = self.bound(&sight.hub_namespace_name, &key.name, city).await?;
        Ok(bound.as_ref().is_some_and(Bound::lags))
    }

    /// Karmada was made to apply the hub WD anew.
    pub(crate) fn say_resynced(&self, key: &Key, city: &str) {
        self.planes.metrics().resyncs.inc();
        tracing::info!(
            plane = %key.plane,
            namespace = key.namespace,
            name = key.name,
            city,
            "resynced: Karmada says that it has not applied it, and passes on no status"
        );
    }
}
