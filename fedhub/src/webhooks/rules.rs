//! The rules over an object, on threads of their own: those that also renew the Lease never wait for them.
//!
//! An object is decoded and judged where there is room for the memory that it takes, and each counts for so
//! much at least that there are few at a time. What is under way keeps its room to its end, also where nobody
//! waits for it any more.

use std::sync::Arc;

use fedhub_core::errors;
use fedhub_core::object::Object;
use fedhub_workload::admission::{Judgement, Kind, Types, defaults, judge, judge_scale, rollout, sets_type};
use fedhub_workload::instance_types::Catalog;
use kube::core::admission::AdmissionReview;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::body::{Arrived, HEAVIEST};
use super::review::Review;
use super::route::{Route, Webhook};
use super::unasked::Unasked;
use super::verdict::Verdict;

/// How much memory all objects may take that are decoded and judged at once, in KiB.
const AT_ONCE: usize = 48 << 10;
/// The least that each review counts for, in KiB, which bounds how many are under way at once.
const LEAST: usize = 3 << 10;

/// The object of a request, unless that is deleted, and the one before it.
type Objects = (Option<Object>, Option<Object>);

type Judge = fn(Kind, Types<'_>, Option<&Object>, &Object) -> Judgement;

/// Judges objects.
pub struct Rules {
    /// The catalogue of instance types, where there is one.
    catalog: Option<Catalog>,
    room: Arc<Semaphore>,
    judge: Judge,
}

/// A request that was decoded.
pub struct Decoded {
    /// The request, without its objects.
    pub request: Review,
    objects: Objects,
    room: OwnedSemaphorePermit,
}

/// Why there is no request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecoded {
    /// The body is no review of the version that is served.
    NoReview,
    /// The review has no request.
    NoRequest,
    /// The review does not belong at its path.
    Misdirected(String),
    /// There was no room in time, or decoding took too long.
    Late,
}

/// The judgement of an object by itself.
pub enum Judged {
    /// The judgement is final.
    Decided(Verdict),
    /// Its plane has a say in it.
    AsksPlane(Judgement),
}

impl Rules {
    /// Creates the rules with that catalogue of instance types.
    pub fn new(catalog: Option<Catalog>) -> Self {
        Self { catalog, room: Arc::new(Semaphore::new(AT_ONCE)), judge }
    }

    /// Others, in place of those of `fedhub_workload`.
    #[cfg(test)]
    pub fn judging_by(self, judge: Judge) -> Self {
        Self { judge, ..self }
    }

    /// How much room there is, in KiB.
    #[cfg(test)]
    pub fn left(&self) -> usize {
        self.room.available_permits()
    }

    /// The request of a review at that route.
    pub async fn decode(&self, route: &Route, body: Arrived, end: Instant) -> Result<Decoded, Undecoded> {
        let weight = u32::try_from(body.memory.clamp(LEAST, HEAVIEST)).unwrap_or(u32::MAX);
        let room = timeout_at(end, self.room.clone().acquire_many_owned(weight)).await;
        let Ok(Ok(room)) = room else { return Err(Undecoded::Late) };
        let route = route.clone();
        let decoded = blocking(end, move || {
            let Arrived { text, room: _until_decoded, .. } = body;
            let (request, objects) = decoded(&text)?;
            match route.fault(&request) {
                Some(fault) => Err(Undecoded::Misdirected(fault)),
                None => Ok(Decoded { request, objects, room }),
            }
        });
        decoded.await.unwrap_or(Err(Undecoded::Late))
    }

    /// Judges the object of a request, and drops the objects.
    pub async fn judge(&self, route: &Route, decoded: Decoded, end: Instant) -> (Review, Judged) {
        let Decoded { request, objects, room } = decoded;
        let catalog = self.catalog.clone();
        let judge = self.judge;
        let route = route.clone();
        let user = request.user_info.username.clone().unwrap_or_default();
        let judged = blocking(end, move || {
            let _until_dropped = room;
            let (new, old) = objects;
            match new {
                Some(new) => judged(&route, judge, catalog.as_ref(), &user, old.as_ref(), &new),
                // A deletion has no object: nothing is decided about it.
                None => Judged::Decided(Verdict::Allowed { warnings: Vec::new() }),
            }
        });
        let judged = judged.await.unwrap_or(Judged::Decided(Verdict::Unanswered(Unasked::Unjudged)));
        (request, judged)
    }
}

fn decoded(text: &[u8]) -> Result<(Review, Objects), Undecoded> {
    // The error is dropped, because it would quote the object.
    let review: AdmissionReview<Object> = serde_json::from_slice(text).map_err(|_| Undecoded::NoReview)?;
    let mut request: Review = review.try_into().map_err(|_| Undecoded::NoRequest)?;
    // The request does not contain a generated name.
    if request.name.is_empty() {
        request.name = request.object.as_ref().map(own_name).unwrap_or_default();
    }
    let objects = (request.object.take(), request.old_object.take());
    Ok((request, objects))
}

/// The name of an object, or what its name will begin with.
fn own_name(object: &Object) -> String {
    let metadata = &object.metadata;
    metadata.name.as_ref().or(metadata.generate_name.as_ref()).cloned().unwrap_or_default()
}

fn judged(
    route: &Route,
    judge: Judge,
    catalog: Option<&Catalog>,
    user: &str,
    old: Option<&Object>,
    new: &Object,
) -> Judged {
    if route.is_scale {
        return Judged::AsksPlane(judge_scale(old, new));
    }
    let types = match catalog {
        None => Types::BuiltIn,
        Some(catalog) if catalog.is_known() => Types::Catalog(catalog),
        Some(_) => Types::Unknown,
    };
    if route.webhook == Webhook::Mutate {
        let patch = match route.kind {
            Kind::WorkloadRollout => rollout::patch(user, old, new),
            kind => defaults::patch(kind, types, old, new),
        };
        return Judged::Decided(Verdict::completed(patch));
    }
    let has_template = matches!(route.kind, Kind::Workload | Kind::WorkloadDeployment);
    if matches!(types, Types::Unknown) && has_template && sets_type(old, new) {
        return Judged::Decided(Verdict::Unanswered(Unasked::NoCatalog));
    }
    Judged::AsksPlane(judge(route.kind, types, old, new))
}

/// Does something that takes its time, on a thread that may; `None` where it is not done in time.
async fn blocking<T: Send + 'static>(end: Instant, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match timeout_at(end, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => Some(done),
        Ok(Err(error)) => {
            tracing::error!(error = errors::chain(&error), "failed to review an object, refusing it");
            None
        }
        Err(_) => None,
    }
}
