//! What is asked of the power of an Instance's server (V9).

use fedhub_api::instance_power::power_of;
use fedhub_core::names::SUSPENDED;
use fedhub_core::object::{Object, ObjectView};

use crate::plan::PowerWish;

/// What is asked of an Instance, which `deployment` made.
pub fn wish(instance: &Object, deployment: Option<&Object>) -> PowerWish {
    let suspended = instance.status()["suspended"] == true
        || deployment.is_some_and(|wd| wd.annotation(SUSPENDED) == Some("true"));
    let asked = deployment.map(|wd| power_of(wd, instance.name())).unwrap_or_default();
    PowerWish { runs: !suspended && !asked.is_stopped(), restarted: asked.restarted_at }
}
