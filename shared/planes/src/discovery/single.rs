//! Discovery `single`: one plane, the management cluster itself.

use std::sync::Arc;

use fedhub_core::names::{InvalidPlaneName, PlaneName};

use crate::Planes;
use crate::transport::Connection;

/// The name of the only plane.
pub const NAME: &str = "single";

/// Engages it.
pub fn engage(planes: &Arc<Planes>, connection: impl Into<Connection>) -> Result<(), InvalidPlaneName> {
    planes.engage(&PlaneName::new(NAME)?, connection);
    planes.mark_discovered();
    Ok(())
}
