//! The newest resourceVersion of a server.

use fedhub_core::errors::ApiError;
use fedhub_core::object::{Kind, Object};
use kube::api::{ListParams, ObjectList, PartialObjectMeta};
use kube::core::Request;
use kube::{Client, Resource};

use crate::transport::BeforeWatch;

/// The newest resourceVersion of a server, by a list of at most one object; `None` where it is no number.
pub(crate) async fn newest_version(client: &Client, kind: Kind) -> Result<Option<u64>, ApiError> {
    let one =
        Request::new(Object::url_path(kind.resource(), None)).list_metadata(&ListParams::default().limit(1));
    let mut one = one?;
    one.extensions_mut().insert(BeforeWatch);
    let list: ObjectList<PartialObjectMeta<Object>> = client.request(one).await?;
    Ok(list.metadata.resource_version.and_then(|version| version.parse().ok()))
}
