//! Reads of kinds that not every project serves.

use fedhub_core::object::Object;
use kube::Api;

/// The result of reading an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// The project does not serve the kind.
    Unserved,
    /// The object does not exist.
    Absent,
    /// The object.
    There(Box<Object>),
}

/// Reads an object by its name.
pub async fn find(api: &Api<Object>, name: &str) -> kube::Result<Found> {
    match api.get(name).await {
        Ok(object) => Ok(Found::There(Box::new(object))),
        Err(kube::Error::Api(status)) if status.code == 404 => {
            // An object that is missing is named; a kind that is not served is not.
            let is_named = status.details.as_ref().is_some_and(|details| !details.name.is_empty());
            Ok(if is_named { Found::Absent } else { Found::Unserved })
        }
        Err(error) => Err(error),
    }
}
