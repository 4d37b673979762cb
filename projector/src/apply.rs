//! Performs a decision.

use fedhub_core::errors::RequestError;
use fedhub_core::object::{Kind, ObjectRef, ObjectView};
use fedhub_planes::Precondition;
use fedhub_planes::{PlaneWriter, Write};

/// How a write of a projection went.
pub enum Written {
    /// Stored.
    Stored,
    /// Nothing had to change.
    Unchanged,
    /// A field is immutable: the Instance was replaced under its name, so the projection was deleted and is made
    /// anew when it is gone (P3).
    Replaced,
}

/// Writes a projection's metadata and spec.
pub async fn write(
    writer: &PlaneWriter<'_>,
    write: Write,
    projection: Option<&ObjectRef>,
) -> Result<Written, RequestError> {
    let (Write::Create(object) | Write::Replace { object, .. }) = &write;
    let place = (object.namespace().to_owned(), object.name().to_owned());
    match (writer.write(Kind::Instance, write).await, projection) {
        (Ok(Some(_)), _) => Ok(Written::Stored),
        (Ok(None), _) => Ok(Written::Unchanged),
        (Err(error), Some(projection)) if error.immutable() => {
            // Only this very answer deletes (P3).
            tracing::info!(plane = %writer.plane.id, namespace = projection.namespace(), name = projection.name(),
                "a field of the projection is immutable: it is made anew");
            writer.plane.delete(Kind::Instance, projection, Precondition::Uid).await?;
            Ok(Written::Replaced)
        }
        // It is there although the watch does not show it: what is known is put right, and planned by.
        (Err(error), None) if error.code() == Some(409) => {
            let (space, name) = (place.0.as_str(), place.1.as_str());
            let found = writer.plane.refresh(Kind::Instance, space, name).await?;
            found.map(|_| Written::Unchanged).ok_or(error)
        }
        (Err(error), _) => Err(error),
    }
}
