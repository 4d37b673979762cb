//! Discovery `single`: one plane, the management cluster itself.

use std::sync::Arc;

use crate::names::{InvalidPlaneName, PlaneName};
use crate::planes::Planes;
use crate::planes::transport::Connection;

/// The name of the only plane.
pub const NAME: &str = "single";

/// Engages it.
pub fn engage(planes: &Arc<Planes>, connection: impl Into<Connection>) -> Result<(), InvalidPlaneName> {
    planes.engage(&PlaneName::new(NAME)?, connection);
    Ok(())
}
