//! Who wrote what of an object: the one read that does not leave its `managedFields` out.

use fedhub_core::errors::{ApiError, RequestError};
use fedhub_core::object::{Kind, Object};
use hyper::body::Bytes;
use kube::api::GetParams;

use crate::listwatch::requests;
use crate::registry::writes::confidential::object_of;
use crate::{Pass, Plane};

impl Plane {
    /// Reads the metadata of one object from the server, with its `managedFields`, past every store and in
    /// bounded memory. `None` where the server says that there is none.
    pub async fn get_metadata(
        &self,
        pass: &Pass,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Object>, RequestError> {
        let request = requests(kind, namespace).get_metadata(name, &GetParams::default());
        match self.exchange(pass, request.map(|request| request.map(Bytes::from))).await {
            Ok(text) => object_of(&text).map(Some).map_err(self.failed("get", kind)),
            Err(ApiError::Server(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(self.failed("get", kind)(error)),
        }
    }
}
