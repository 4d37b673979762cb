//! An API server in memory with what it lacks for checks: access reviews, `OpenAPI`, a clock that may be off.

use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll};

use fedhub_api::crds;
use fedhub_fake_apiserver::{AnswerBody, ApiService};
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};
use tower::{BoxError, Service};

/// What is off about a server.
#[derive(Clone, Default)]
pub struct Quirks {
    /// Rights that are not given, as `verb plural`.
    pub denied: Vec<&'static str>,
    /// The API group that is not served.
    pub without: Option<&'static str>,
    /// A field that the CRD of a kind lacks, as a JSON pointer below its properties' parent.
    pub pruned: Option<(&'static str, &'static str, &'static str)>,
    /// By how much its clock is ahead.
    pub ahead: SignedDuration,
    /// How long the tokens of its service accounts last at most, in seconds.
    pub longest: Option<i64>,
    /// What tokens begin with that it does not accept.
    pub refused: Option<&'static str>,
    /// The paths of all requests so far.
    pub asked: Vec<String>,
    /// The project whose plane it serves, as a Milo does, and that plane.
    pub project: Option<(&'static str, ApiService)>,
}

#[derive(Clone)]
pub struct Front {
    pub inner: ApiService,
    pub quirks: Arc<Mutex<Quirks>>,
}

impl Service<Request<Incoming>> for Front {
    type Response = Response<AnswerBody>;
    type Error = BoxError;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        let mut inner = self.inner.clone();
        let quirks = {
            let mut quirks = self.quirks.lock().unwrap();
            quirks.asked.push(request.uri().path().to_owned());
            quirks.clone()
        };
        Box::pin(async move {
            if let Some((name, plane)) = &quirks.project {
                let prefix =
                    format!("/apis/resourcemanager.miloapis.com/v1alpha1/projects/{name}/control-plane");
                let rest = request.uri().path_and_query().unwrap().as_str().strip_prefix(&prefix);
                if let Some(rest) = rest.map(str::to_owned) {
                    *request.uri_mut() = rest.parse()?;
                    inner = plane.clone();
                }
            }
            let path = request.uri().path().to_owned();
            let bearer = request.headers().get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
            let bearer = bearer.and_then(|it| it.strip_prefix("Bearer ")).unwrap_or_default();
            let refused = quirks.refused.is_some_and(|start| bearer.starts_with(start));
            let absent = quirks.without.is_some_and(|group| path.contains(group));
            let mut response = if refused {
                answer(401, &json!({"kind": "Status", "code": 401, "reason": "Unauthorized"}))
            } else if path.contains("/serviceaccounts/") && path.ends_with("/token") {
                let body = request.into_body().collect().await?.to_bytes();
                answer(201, &granted(&path, serde_json::from_slice(&body)?, &quirks))
            } else if absent {
                answer(404, &json!({"kind": "Status", "code": 404, "reason": "NotFound", "details": {}}))
            } else if path.ends_with("/selfsubjectaccessreviews") {
                let body = request.into_body().collect().await?.to_bytes();
                answer(201, &reviewed(serde_json::from_slice(&body)?, &quirks))
            } else if path.starts_with("/openapi/v3/apis/compute") {
                answer(200, &openapi(&quirks))
            } else {
                inner.call(request).await?
            };
            let now = Timestamp::now() + quirks.ahead;
            let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
            response.headers_mut().insert(header::DATE, date.parse()?);
            Ok(response)
        })
    }
}

fn answer(code: u16, body: &Value) -> Response<AnswerBody> {
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {}).boxed_unsync();
    Response::builder().status(code).header(header::CONTENT_TYPE, "application/json").body(body).unwrap()
}

/// A token of the service account of that path, as asked for, or for as long as the server allows.
fn granted(path: &str, mut request: Value, quirks: &Quirks) -> Value {
    let parts: Vec<&str> = path.split('/').collect();
    let namespace = parts[4];
    let name = parts[6];
    let lasts = request["spec"]["expirationSeconds"].as_i64().unwrap();
    let lasts = quirks.longest.map_or(lasts, |longest| lasts.min(longest));
    let now = Timestamp::now();
    let ends = now + SignedDuration::from_secs(lasts);
    let token = token(&format!("system:serviceaccount:{namespace}:{name}"), now, ends);
    request["status"] = json!({"token": token, "expirationTimestamp": ends.to_string()});
    request
}

/// A token of a user as a server makes it, but for the signature.
pub fn token(user: &str, since: Timestamp, ends: Timestamp) -> String {
    let claims = json!({"sub": user, "iat": since.as_second(), "exp": ends.as_second()}).to_string();
    let coded = serde_json::to_value(ByteString(claims.into_bytes())).unwrap();
    let coded = coded.as_str().unwrap().replace('+', "-").replace('/', "_");
    format!("{MADE}{}.c2ln", coded.trim_end_matches('='))
}

/// What every token of [`token`] begins with.
pub const MADE: &str = "e30.";

fn reviewed(mut review: Value, quirks: &Quirks) -> Value {
    let asked = &review["spec"]["resourceAttributes"];
    let right = format!(
        "{} {}",
        asked["verb"].as_str().unwrap_or_default(),
        asked["resource"].as_str().unwrap_or_default()
    );
    review["status"] = json!({"allowed": !quirks.denied.contains(&right.as_str())});
    review
}

static CRDS: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(|| crds::all().unwrap());

fn openapi(quirks: &Quirks) -> Value {
    let mut schemas = serde_json::Map::new();
    for crd in CRDS.iter() {
        let kind = &crd.spec.names.kind;
        let version = &crd.spec.versions[0];
        let mut schema = serde_json::to_value(&version.schema).unwrap()["openAPIV3Schema"].take();
        if let Some((of, parent, field)) = quirks.pruned
            && of == kind
        {
            schema.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(field).unwrap();
        }
        let gvk = json!([{"group": crd.spec.group, "version": version.name, "kind": kind}]);
        schema["x-kubernetes-group-version-kind"] = gvk;
        schemas.insert(format!("com.datumapis.compute.v1alpha.{kind}"), schema);
    }
    json!({"openapi": "3.0.0", "components": {"schemas": schemas}})
}
