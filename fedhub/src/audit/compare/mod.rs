//! The comparison: a pure function from what the planes have to what is not as it should be.
//!
//! What should be is never decided here. The federator's and the projector's own plans are made of what was
//! read, and what they would write is what differs (`wds`, `instances`); what no WD or Instance leads to is
//! found from the hub (`hub`) and from cells (`cells`).

mod cells;
pub mod context;
pub mod differ;
mod hub;
pub mod instances;
pub mod pairs;
#[cfg(test)]
mod tests;
mod wds;

use super::finding::Finding;
use super::world::World;
use context::{Context, Findings};

/// All findings, by project plane, object and discrepancy.
pub fn audit(world: &World) -> Vec<Finding> {
    let context = Context::from_world(world);
    let mut findings = Findings::from_world(world);
    wds::compare(&context, &mut findings);
    instances::compare(&context, &mut findings);
    hub::compare(&context, &mut findings);
    cells::compare(&context, &mut findings);
    findings.sorted()
}
