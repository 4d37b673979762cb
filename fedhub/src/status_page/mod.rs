//! The status page: the fleet at a glance, one plane, an object's chain. It reads only, and loads nothing
//! from elsewhere.
//!
//! [`StatusPage`] is a [`Page`], which whoever has a listener can mount; who may see it is for the mount to
//! decide. `route` is the addresses, `collect` what the process knows as the plain values of `data`,
//! `explainer` an object's chain, `samples` a short history for sparklines, and `view` makes a response of
//! all that, as a pure function.
//!
//! What the process knows is read at most once a second, however many ask.

mod collect;
mod concerns;
mod data;
mod explainer;
mod figures;
mod route;
mod samples;
mod view;

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderValue, Method, StatusCode, header};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::admin::{Answer, Making, Page, text};
use crate::status::Status;
use data::{ObjectAnswer, ObjectQuery, Snapshot};
pub use explainer::Explainer;
use route::Route;
use samples::Samples;
use view::Page as View;

/// How long what was read serves other requests.
const FRESH: Duration = Duration::from_secs(1);

/// The status page of a process.
pub struct StatusPage {
    status: Arc<Status>,
    samples: Samples,
    /// The explainer of the management role; `None` in other roles.
    explainer: Option<Explainer>,
    last: Mutex<Option<(Instant, Arc<Snapshot>)>>,
}

impl StatusPage {
    /// The page of a process, which explains objects where it has an `explainer`.
    pub fn new(status: Arc<Status>, explainer: Option<Explainer>) -> Arc<Self> {
        Arc::new(Self { status, samples: Samples::default(), explainer, last: Mutex::default() })
    }

    /// Takes samples for the sparklines until `stop`.
    pub async fn sample(self: Arc<Self>, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(samples::EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => self.samples.add(collect::measure(&self.status)),
            }
        }
    }

    /// Answers a request. `caller` is who asks, as far as the mount knows: each may have one
    /// object explained at a time.
    async fn respond(&self, method: &Method, path: &str, query: &str, caller: &str) -> Answer {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return read_only();
        }
        let snapshot = self.snapshot();
        match Route::of(path, query) {
            None => view::respond(&View::NotFound(&snapshot)),
            Some(Route::Fleet) => view::respond(&View::Fleet(&snapshot)),
            Some(Route::Planes(query)) => view::respond(&View::Planes(&snapshot, &query)),
            Some(Route::Plane(name)) => {
                view::respond(&View::Plane(&snapshot, &name, &collect::plane(&self.status, &name)))
            }
            Some(Route::Object(query)) => {
                let answer = self.explain(caller, &query).await;
                view::respond(&View::Object(&snapshot, &query, &answer))
            }
        }
    }

    async fn explain(&self, caller: &str, query: &ObjectQuery) -> ObjectAnswer {
        if !query.is_asked() {
            return ObjectAnswer::Nothing;
        }
        match &self.explainer {
            Some(explainer) => explainer.explain(caller, query).await,
            None => ObjectAnswer::Unavailable(
                "it has no clients of the hub and the project planes: ask a process of the management role"
                    .to_owned(),
            ),
        }
    }

    /// What the process knows, as it was read no longer than a moment ago.
    fn snapshot(&self) -> Arc<Snapshot> {
        let mut last = self.last.lock();
        if let Some((at, snapshot)) = &*last
            && at.elapsed() < FRESH
        {
            return snapshot.clone();
        }
        let snapshot = Arc::new(collect::snapshot(&self.status, &self.samples));
        *last = Some((Instant::now(), snapshot.clone()));
        snapshot
    }
}

impl Page for StatusPage {
    fn has(&self, path: &str) -> bool {
        path.strip_prefix(route::ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    fn answer<'a>(&'a self, request: &'a Parts, caller: &'a str) -> Making<'a> {
        let (path, query) = (request.uri.path(), request.uri.query().unwrap_or_default());
        Box::pin(self.respond(&request.method, path, query, caller))
    }
}

fn read_only() -> Answer {
    let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "try GET\n");
    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    answer
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
