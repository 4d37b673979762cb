//! The status page: the fleet at a glance, one plane, an object's chain. It reads only, and loads nothing
//! from elsewhere.
//!
//! A server mounts [`StatusPage::routes`] and decides who may see them. `route` is the addresses, `collect`
//! what the process knows as the plain values of `data`, `explainer` an object's chain, `samples` a short
//! history for sparklines, and `view` makes a response of all that, as a pure function.
//!
//! What the process knows is read at most once a second, however many ask.

mod collect;
mod concerns;
mod data;
mod explainer;
mod figures;
mod rollouts;
mod route;
mod samples;
mod view;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use http::{StatusCode, Uri};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::admin::Reader;
use crate::status::Status;
use data::{ObjectAnswer, ObjectQuery, Snapshot};
pub use explainer::Explainer;
use route::{ROOT, Route};
use samples::Samples;
use view::Page;

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

    /// The pages, for a server that adds a [`Reader`] to each request: each reader may have one object
    /// explained at a time.
    pub fn routes(self: Arc<Self>) -> Router {
        let page = get(answer).fallback((StatusCode::METHOD_NOT_ALLOWED, "try GET\n"));
        Router::new()
            .route(ROOT, page.clone())
            .route(&format!("{ROOT}/"), page.clone())
            .route(&format!("{ROOT}/{{*page}}"), page)
            .with_state(self)
    }

    async fn respond(&self, path: &str, query: &str, caller: &str) -> Response {
        let snapshot = self.snapshot();
        match Route::from_path(path, query) {
            None => view::respond(&Page::NotFound(&snapshot)),
            Some(Route::Fleet) => view::respond(&Page::Fleet(&snapshot)),
            Some(Route::Planes(query)) => view::respond(&Page::Planes(&snapshot, &query)),
            Some(Route::Plane(name)) => {
                view::respond(&Page::Plane(&snapshot, &name, &collect::plane(&self.status, &name)))
            }
            Some(Route::Object(query)) => {
                let answer = self.explain(caller, &query).await;
                view::respond(&Page::Object(&snapshot, &query, &answer))
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

    /// Returns the state of the process, as it was read a moment ago at most.
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

async fn answer(
    State(page): State<Arc<StatusPage>>,
    Extension(Reader(caller)): Extension<Reader>,
    uri: Uri,
) -> Response {
    page.respond(uri.path(), uri.query().unwrap_or_default(), &caller).await
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
