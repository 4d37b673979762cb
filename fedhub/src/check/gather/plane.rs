//! Reads of one plane, whichever it is.

use std::sync::Arc;

use fedhub_planes::discovery::expiry::ends;
use http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Bytes;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use kube::Config;
use kube::api::{Api, PostParams};
use kube::client::Body;
use serde_json::Value;
use tokio::task::JoinSet;

use super::super::facts::{Admission, Clocks, PlaneFacts, Served};
use super::super::finding::PlaneName;
use super::super::rights::Right;
use super::super::schema::{Ours, lacking};
use crate::operator::connect::Plane;
use crate::operator::planes::identities;
use crate::operator::read::{Failure, Read, ReadError};
use crate::operator::requests::within;

/// A plane that is to be asked.
pub struct Target {
    /// Its name.
    pub name: PlaneName,
    /// How to reach it, or why its kubeconfig cannot be used.
    pub config: Result<Config, String>,
    /// The rights to ask for.
    pub rights: Vec<Right>,
    /// Our CRDs that belong there, and are installed by now.
    pub ours: Arc<Ours>,
    /// Whether its webhooks are to ask fedhub.
    pub is_admitting: bool,
}

/// What a plane says.
pub async fn facts(plane: &Plane, target: Target) -> PlaneFacts {
    let mut facts = PlaneFacts::new(target.name);
    facts.server.clone_from(&plane.server);
    facts.ours = target.ours;
    facts.ends = target.config.iter().flat_map(ends).collect();
    let sent = Timestamp::now();
    let answer = get(plane, "/version").await;
    let answered = Timestamp::now();
    if let Read::Found((_, Some(server))) = &answer {
        facts.clocks = Some(Clocks { server: *server, sent, answered });
    }
    facts.version =
        answer.map(|(version, _)| version["gitVersion"].as_str().unwrap_or("no version").to_owned());
    if !facts.answers() {
        return facts;
    }
    facts.rights = rights(plane, target.rights).await;
    if !facts.ours.kinds.is_empty() {
        facts.served = served(plane, &facts.ours).await;
    }
    if target.is_admitting {
        facts.admission = admission(plane).await;
    }
    facts.identities = identities(&Read::Found(plane.clone())).await.found().cloned().unwrap_or_default();
    facts
}

/// The JSON at a path, and the server's clock.
pub async fn get(plane: &Plane, path: &str) -> Read<(Value, Option<Timestamp>)> {
    let request = Request::builder().method(Method::GET).uri(path).body(Body::empty());
    let Ok(request) = request else { return Read::Skipped };
    let answer = async {
        let response = plane.client.send(request).await?;
        let status = response.status();
        let date = date(response.headers());
        let body =
            if status.is_success() { response.into_body().collect().await?.to_bytes() } else { Bytes::new() };
        Ok::<_, kube::Error>((status, date, body))
    };
    let (status, date, body) = match within(plane.timeout, answer).await {
        Read::Found(answer) => answer,
        Read::Failed(error) => return Read::Failed(error),
        Read::Absent => return Read::Absent,
        Read::Skipped => return Read::Skipped,
    };
    let failed = |failure, message| Read::Failed(ReadError { failure, message });
    let failure = match status {
        StatusCode::UNAUTHORIZED => Failure::Unauthorized,
        StatusCode::FORBIDDEN => Failure::Forbidden,
        StatusCode::NOT_FOUND => return Read::Absent,
        _ => Failure::Unreachable,
    };
    if !status.is_success() {
        return failed(failure, format!("GET {path} is answered with {}", status.as_u16()));
    }
    match serde_json::from_slice(&body) {
        Ok(value) => Read::Found((value, date)),
        Err(_) => failed(Failure::Unreachable, format!("the answer to GET {path} is not JSON")),
    }
}

fn date(headers: &header::HeaderMap) -> Option<Timestamp> {
    let date = headers.get(header::DATE)?.to_str().ok()?;
    rfc2822::DateTimeParser::new().parse_timestamp(date).ok()
}

/// Asks for each right, all at once: the server answers from memory, and stores nothing.
async fn rights(plane: &Plane, rights: Vec<Right>) -> Vec<(Right, Read<bool>)> {
    let mut asked = JoinSet::new();
    for right in rights {
        let plane = plane.clone();
        asked.spawn(async move {
            let api: Api<SelfSubjectAccessReview> = Api::all(plane.client.clone());
            let review = SelfSubjectAccessReview { spec: right.question(), ..Default::default() };
            let params = PostParams::default();
            let answer = within(plane.timeout, api.create(&params, &review)).await;
            (right, answer.map(|review| review.status.is_some_and(|status| status.allowed)))
        });
    }
    let mut answers = asked.join_all().await;
    answers.sort_by(|(a, _), (b, _)| a.cmp(b));
    answers
}

/// Reads whom the webhooks of `deploy/` exempt there, and who fedhub is.
async fn admission(plane: &Plane) -> Read<Admission> {
    const CONFIGURATION: &str =
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/fedhub-admission";
    let configuration = match get(plane, CONFIGURATION).await {
        Read::Found((configuration, _)) => configuration,
        Read::Failed(error) => return Read::Failed(error),
        Read::Absent => return Read::Absent,
        Read::Skipped => return Read::Skipped,
    };
    let exempt = exempt(&configuration);
    let api: Api<SelfSubjectReview> = Api::all(plane.client.clone());
    let params = PostParams::default();
    let review = SelfSubjectReview::default();
    within(plane.timeout, api.create(&params, &review)).await.map(|review| {
        let user = review.status.and_then(|status| status.user_info?.username);
        Admission { user: user.unwrap_or_default(), exempt }
    })
}

/// The conditions of a configuration that exempt fedhub.
pub fn exempt(configuration: &Value) -> Vec<String> {
    let webhooks = configuration["webhooks"].as_array().into_iter().flatten();
    let conditions = webhooks.flat_map(|webhook| webhook["matchConditions"].as_array().into_iter().flatten());
    let exempt = conditions.filter(|condition| condition["name"] == "is-not-fedhub");
    exempt.filter_map(|condition| condition["expression"].as_str().map(str::to_owned)).collect()
}

/// What is served of our group. Discovery and `OpenAPI` are open to every user, CRDs are not.
async fn served(plane: &Plane, ours: &Ours) -> Read<Served> {
    let group = match get(plane, &format!("/apis/{}", ours.group)).await {
        Read::Found((group, _)) => group,
        Read::Absent => return Read::Found(Served::default()),
        Read::Failed(error) => return Read::Failed(error),
        Read::Skipped => return Read::Skipped,
    };
    let of_version = format!("/apis/{}/{}", ours.group, ours.version);
    let openapi = format!("/openapi/v3{of_version}");
    let (resources, openapi) = tokio::join!(get(plane, &of_version), get(plane, &openapi));
    let resources = match resources {
        Read::Found((list, _)) => names(&list["resources"], "name"),
        Read::Failed(error) => return Read::Failed(error),
        Read::Absent | Read::Skipped => Vec::new(),
    };
    let versions = names(&group["versions"], "version");
    // The document itself is large, and there may be thousands of planes.
    Read::Found(Served {
        versions,
        resources,
        lacking: openapi.map(|(document, _)| lacking(ours, &document)),
    })
}

/// Returns that field of each item.
pub fn names(list: &Value, field: &str) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|it| it[field].as_str().map(str::to_owned)).collect()
}
