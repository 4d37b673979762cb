//! Performs a decision.

use fedhub_shared::engine::{Write, Writer};
use fedhub_shared::errors::RequestError;
use fedhub_shared::object::{Kind, ObjectView, Shared};

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
    writer: &Writer<'_>,
    write: Write,
    projection: Option<&Shared>,
) -> Result<Written, RequestError> {
    match (writer.write(Kind::Instance, write).await, projection) {
        (Ok(Some(_)), _) => Ok(Written::Stored),
        (Ok(None), _) => Ok(Written::Unchanged),
        (Err(error), Some(projection)) if immutable(&error) => {
            tracing::info!(plane = %writer.plane.id, namespace = projection.space(), name = projection.called(),
                "a field of the projection is immutable: it is made anew");
            writer.plane.delete(Kind::Instance, projection, false).await?;
            Ok(Written::Replaced)
        }
        (Err(error), _) => Err(error),
    }
}

/// Whether the server refused an update because a field must not change. Only this very answer deletes (P3).
fn immutable(error: &RequestError) -> bool {
    match &error.source {
        kube::Error::Api(status) if status.code == 422 => status.message.contains("immutable"),
        _ => false,
    }
}
