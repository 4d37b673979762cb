//! Discovery `single`: one plane, the management cluster itself.

use std::sync::Arc;

use kube::Client;

use crate::names::{InvalidPlaneName, PlaneName};
use crate::planes::Planes;

/// The name of the only plane.
pub const NAME: &str = "single";

/// Engages it.
pub fn engage(planes: &Arc<Planes>, client: Client) -> Result<(), InvalidPlaneName> {
    planes.engage(&PlaneName::new(NAME)?, client);
    Ok(())
}
