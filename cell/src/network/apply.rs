//! Performs what the plan says.

use fedhub_core::errors::RequestError;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_planes::{PlaneWriter, Write};

use super::Plan;

/// Creates what is to be created. Says whether anything was. What is to be deleted goes after the Instances' step.
pub(crate) async fn apply(plan: &Plan, writer: &PlaneWriter<'_>) -> Result<bool, RequestError> {
    let bindings = plan.bindings.iter().map(|binding| (Kind::NetworkBinding, binding));
    let claims = plan.claims.iter().map(|claim| (Kind::SubnetClaim, claim));
    let mut wrote = false;
    for (kind, object) in bindings.chain(claims) {
        create(writer, kind, object.clone()).await?;
        wrote = true;
    }
    Ok(wrote)
}

/// Creates an object. One of its name that the watch has not shown is read, so that the next pass judges by it.
pub(crate) async fn create(
    writer: &PlaneWriter<'_>,
    kind: Kind,
    object: Object,
) -> Result<Option<ObjectRef>, RequestError> {
    let (space, name) = (object.namespace().to_owned(), object.name().to_owned());
    let made = writer.write(kind, Write::Create(Box::new(object))).await;
    if made.as_ref().is_err_and(|error| error.code() == Some(409)) {
        writer.plane.refresh(kind, &space, &name).await?;
    }
    made
}
