//! How many WDs a plane has.

use std::ops::ControlFlow;

use fedhub_core::names::FEDERATOR_FINALIZER;
use fedhub_core::object::{Kind, ObjectView};

use super::report::Counts;
use crate::operator::connect::Connection;
use crate::operator::read::{Read, ReadError};
use crate::operator::requests::{Part, Query, each};

/// Counts the WDs of a plane with these labels by their metadata, page by page.
pub async fn count(plane: &Connection, labels: &str) -> Result<Counts, ReadError> {
    let all = Query { kind: Kind::WorkloadDeployment.resource(), namespace: "", labels, fields: "" };
    let mut counts = Counts::default();
    let counted = each(plane, all, Part::Metadata, |wd| {
        counts.add(wd.has_finalizer(FEDERATOR_FINALIZER), wd.is_terminating());
        ControlFlow::Continue(())
    });
    match counted.await {
        Read::Failed(error) => Err(error),
        Read::Found(()) | Read::Absent | Read::Skipped => Ok(counts),
    }
}
