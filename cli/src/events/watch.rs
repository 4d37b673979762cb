//! Events as they come.

use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::time::Duration;

use fedhub_core::object::{Kind, Object, ObjectView};
use futures::{Stream, StreamExt};
use jiff::Timestamp;
use kube::Api;
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use tokio::time::Instant;

use super::join::{Entry, Filter, Names, entry};
use super::view::{line, value};
use crate::model::list;
use crate::problem::{Problem, is_final, of_watch};
use crate::reading::known;
use crate::session::Session;
use crate::session::transport::watch_config;
use crate::view::Look;

/// Why nothing more is shown.
enum End {
    /// The reader has gone away.
    Unread,
    /// Something is wrong.
    Problem(Problem),
}

impl From<Problem> for End {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// How long a watch that worked may be refused. A server that has just been started refuses what it has not
/// read the roles and the kinds for yet.
const GRACE: Duration = Duration::from_secs(10);

/// The state in which each event was last shown: an event whose count is raised is shown again.
type Shown = HashMap<String, (Option<Timestamp>, i64)>;

/// Shows what there is, and then what comes, until Ctrl-C.
pub async fn run(session: &Session, filter: Filter<'_>, names: Names) -> Result<(), Problem> {
    let kind = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "Event"), "events");
    let api: Api<Object> = Api::namespaced_with(session.client.clone(), &session.namespace, &kind);
    let news = watch(api, watch_config()).default_backoff();
    let mut following = Following {
        session,
        filter,
        names,
        shown: Shown::new(),
        listed: Vec::new(),
        lost: false,
        worked: false,
        refused: None,
    };
    let ended = tokio::select! {
        biased;
        ended = following.run(news) => ended,
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    match ended {
        Err(End::Problem(problem)) => Err(problem),
        Ok(()) | Err(End::Unread) => Ok(()),
    }
}

struct Following<'a> {
    session: &'a Session,
    filter: Filter<'a>,
    names: Names,
    shown: Shown,
    /// The objects of a list that is not complete yet.
    listed: Vec<Object>,
    /// Whether the connection is lost.
    lost: bool,
    /// Whether any list was whole.
    worked: bool,
    /// When the server began to refuse the watch.
    refused: Option<Instant>,
}

impl Following<'_> {
    async fn run(&mut self, news: impl Stream<Item = watcher::Result<Event<Object>>>) -> Result<(), End> {
        let mut news = std::pin::pin!(news);
        while let Some(event) = news.next().await {
            match event {
                Ok(event) => self.take(event).await?,
                Err(error) => self.failed(error)?,
            }
        }
        Ok(())
    }

    async fn take(&mut self, event: Event<Object>) -> Result<(), End> {
        if self.lost && !matches!(event, Event::Init) {
            self.lost = false;
            self.session.tell("The platform answers again.");
        }
        if !matches!(event, Event::Init) {
            self.refused = None;
        }
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => self.listed.push(object),
            Event::InitDone => {
                self.worked = true;
                let listed = std::mem::take(&mut self.listed);
                self.refresh(&listed).await;
                let mut fresh: Vec<Entry> = listed.iter().filter_map(|object| self.fresh(object)).collect();
                fresh.sort_by_key(|entry| entry.at);
                for entry in &fresh {
                    self.show(entry)?;
                }
            }
            Event::Apply(object) => {
                self.refresh(std::slice::from_ref(&object)).await;
                if let Some(entry) = self.fresh(&object) {
                    self.show(&entry)?;
                }
            }
            Event::Delete(object) => drop(self.shown.remove(object.name())),
        }
        Ok(())
    }

    /// Reads what deployments stand for again where one of these is about one that is not known.
    async fn refresh(&mut self, events: &[Object]) {
        let all = Filter::default();
        let is_unknown = |event: &Object| {
            entry(event, &self.names, all).is_some_and(|entry| entry.about.workload.is_none())
        };
        if !events.iter().any(|event| !self.shown.contains_key(event.name()) && is_unknown(event)) {
            return;
        }
        let (workloads, deployments) = tokio::join!(
            list(self.session, Kind::Workload, ""),
            list(self.session, Kind::WorkloadDeployment, "")
        );
        // The names of objects that were deleted meanwhile are kept.
        self.names.extend(Names::new(known(&workloads), known(&deployments)));
    }

    /// The entry of an event, unless it was shown as it is now.
    fn fresh(&mut self, event: &Object) -> Option<Entry> {
        let entry = entry(event, &self.names, Filter::default())?;
        let is = (entry.at, entry.count);
        let before = self.shown.insert(event.name().to_owned(), is);
        let passes = super::join::entry(event, &self.names, self.filter).is_some();
        (passes && before != Some(is)).then_some(entry)
    }

    fn show(&self, entry: &Entry) -> Result<(), End> {
        let text = if self.session.global.output.is_structured() {
            value(entry).to_string()
        } else {
            line(entry, &Look::from_session(self.session))
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => End::Unread,
            _ => Problem::failed("Could not write to standard output.").into(),
        })
    }

    /// Whether a refusal stands: at once where the watch never worked, else when it has lasted.
    fn is_refused(&mut self) -> bool {
        let now = Instant::now();
        let since = *self.refused.get_or_insert(now);
        !self.worked || now >= since + GRACE
    }

    /// An error that passes is told once; the watch begins anew by itself.
    fn failed(&mut self, error: watcher::Error) -> Result<(), Problem> {
        match of_watch(error) {
            Some(error) if is_final(&error) && self.is_refused() => {
                Err(Problem::from_error(error, "watch the events"))
            }
            // The watch has expired, and starts again.
            Some(kube::Error::Api(status)) if status.code == 410 => Ok(()),
            _ => {
                if !std::mem::replace(&mut self.lost, true) {
                    self.session.tell("The platform does not answer: trying again.");
                }
                Ok(())
            }
        }
    }
}
