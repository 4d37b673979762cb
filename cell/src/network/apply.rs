//! Performs what the plan says.

use fedhub_shared::engine::{Write, Writer};
use fedhub_shared::errors::RequestError;
use fedhub_shared::object::{Kind, Object, ObjectView, Shared};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::{Claim, Plan};

/// Creates what is to be created. Says whether anything was; a claim whose context is not there is left out, and
/// named in the log.
pub(crate) async fn apply(plan: Plan, writer: &Writer<'_>) -> Result<bool, RequestError> {
    let mut wrote = false;
    for binding in plan.bindings {
        create(writer, Kind::NetworkBinding, binding).await?;
        wrote = true;
    }
    for Claim { object: mut claim, context } in plan.claims {
        let Some(context) = writer.plane.live(Kind::NetworkContext, claim.space(), &context).await? else {
            tracing::warn!(
                namespace = claim.space(),
                context,
                "a binding names a network context that is not there"
            );
            continue;
        };
        claim.metadata.owner_references = Some(vec![owner(&context)]);
        create(writer, Kind::SubnetClaim, claim).await?;
        wrote = true;
    }
    Ok(wrote)
}

/// Creates an object. One of its name that the watch has not shown is read, so that the next pass judges by it.
pub(crate) async fn create(
    writer: &Writer<'_>,
    kind: Kind,
    object: Object,
) -> Result<Option<Shared>, RequestError> {
    let (space, name) = (object.space().to_owned(), object.called().to_owned());
    let made = writer.write(kind, Write::Create(Box::new(object))).await;
    if made.as_ref().is_err_and(|error| error.code() == Some(409)) {
        writer.plane.refresh(kind, &space, &name).await?;
    }
    made
}

/// A claim ends with its context, which is not its controller.
fn owner(context: &Object) -> OwnerReference {
    let kind = Kind::NetworkContext.resource();
    OwnerReference {
        api_version: kind.api_version.clone(),
        kind: kind.kind.clone(),
        name: context.called().to_owned(),
        uid: context.uid().to_owned(),
        controller: None,
        block_owner_deletion: None,
    }
}
