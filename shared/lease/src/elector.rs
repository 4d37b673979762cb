//! Does what the election decides: watches, reads and writes the Lease.

use std::time::Duration;

use fedhub_core::clock::{Clock, stamp};
use fedhub_core::errors;
use fedhub_core::fence::{Fence, Term};
use fedhub_core::metrics::Metrics;
use futures::{Stream, StreamExt, pin_mut};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::ObjectMeta;
use kube::runtime::watcher::{self, Event, watcher};
use prometheus::IntCounter;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::config::LeaseConfig;
use crate::election::{Claimed, Election, ElectionStep, LeaseSource, RELEASED, Record};

/// The field manager of the Lease.
const MANAGER: &str = "fedhub-leader-election";
/// How long a watch of the Lease lasts before the server ends it, in seconds.
const WATCH_SECONDS: u32 = 240;
/// How long a shutdown tries to release the Lease. Failing that, others wait for its end.
const RELEASE: Duration = Duration::from_secs(2);

/// Why a request about the Lease failed.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// The management plane refused it, or cannot be reached.
    #[error("failed to reach the Lease")]
    Request(#[from] kube::Error),
    /// The API server did not answer in time.
    #[error("no answer after {0:?}")]
    Silence(Duration),
}

impl LeaseError {
    fn code(&self) -> Option<u16> {
        match self {
            Self::Request(kube::Error::Api(status)) => Some(status.code),
            _ => None,
        }
    }
}

/// Takes part in the election.
pub struct Elector {
    api: Api<Lease>,
    config: LeaseConfig,
    clock: Clock,
    election: Election,
    term: watch::Sender<Option<Term>>,
    /// The Lease's own count of its holders, which is the same in every replica.
    transitions: IntCounter,
    /// The leader that was logged last.
    logged_leader: Option<(String, i32)>,
    failing: bool,
}

/// A running election, as the rest of the process sees it.
pub struct Leadership {
    term: watch::Receiver<Option<Term>>,
    warm: CancellationToken,
    retire: CancellationToken,
    release: CancellationToken,
    task: JoinHandle<()>,
}

impl Leadership {
    /// Joins the election, with a client of the management plane. `clock` is for the times that people read
    /// in the Lease.
    pub fn start(client: kube::Client, config: LeaseConfig, clock: Clock, metrics: &Metrics) -> Self {
        let (sender, term) = watch::channel(None);
        let elector = Elector {
            api: Api::namespaced(client, &config.namespace),
            election: Election::new(config.clone(), Instant::now()),
            transitions: metrics.lease_transitions.with_label_values(&[config.name.as_str()]),
            config,
            clock,
            term: sender,
            logged_leader: None,
            failing: false,
        };
        let [warm, retire, release] = std::array::from_fn(|_| CancellationToken::new());
        let task = tokio::spawn(elector.run(warm.clone(), retire.clone(), release.clone()));
        Self { term, warm, retire, release, task }
    }

    /// The fence that the process's writes have to pass.
    pub fn fence(&self) -> Fence {
        Fence::new(self.term.clone())
    }

    /// The term in which this process leads, and every change of that.
    pub fn terms(&self) -> watch::Receiver<Option<Term>> {
        self.term.clone()
    }

    /// Returns a token to cancel once this process is in sync and may lead. Without it, the election waits
    /// for [`LeaseConfig::warm_up`].
    pub fn warm(&self) -> CancellationToken {
        self.warm.clone()
    }

    /// Stops this process from becoming leader. A term in progress goes on, for what is under way.
    pub fn retire(&self) {
        self.retire.cancel();
    }

    /// Ends the term, closes the fence and releases the Lease, so that another process leads at once.
    pub async fn release(self) {
        self.release.cancel();
        if self.task.await.is_err() {
            tracing::warn!("leader election panicked");
        }
    }
}

impl Elector {
    async fn run(mut self, warm: CancellationToken, retire: CancellationToken, release: CancellationToken) {
        let config = watcher::Config::default()
            .fields(&format!("metadata.name={}", self.config.name))
            .timeout(WATCH_SECONDS);
        let news = watcher(self.api.clone(), config);
        pin_mut!(news);
        tracing::info!(
            lease = self.config.name,
            namespace = self.config.namespace,
            identity = self.config.identity,
            "joined leader election"
        );
        let lead = self.lead(news, &warm, &retire);
        tokio::select! { biased; () = release.cancelled() => (), () = lead => () }
        if timeout(RELEASE, self.step_down()).await.is_err() {
            tracing::warn!("failed to release the Lease: another process takes over when it expires");
        }
    }

    async fn lead(
        &mut self,
        mut news: impl Stream<Item = Result<Event<Lease>, watcher::Error>> + Unpin,
        warm: &CancellationToken,
        retire: &CancellationToken,
    ) {
        let mut listed = None;
        let mut retry_at = Instant::now();
        loop {
            if retire.is_cancelled() {
                self.election.retire();
            }
            let now = Instant::now();
            if warm.is_cancelled() {
                self.election.warm(now);
            }
            self.publish(now);
            match self.election.plan(now) {
                ElectionStep::Read => self.read().await,
                ElectionStep::Claim { version, epoch } => self.claim(version, epoch).await,
                ElectionStep::Wait(until) => {
                    let event = async {
                        sleep_until(retry_at).await;
                        news.next().await
                    };
                    tokio::select! {
                        biased;
                        () = retire.cancelled(), if !retire.is_cancelled() => (),
                        () = warm.cancelled(), if !warm.is_cancelled() => (),
                        event = event => match event {
                            Some(Ok(event)) => self.observe(event, &mut listed),
                            Some(Err(error)) => {
                                tracing::debug!(error = errors::chain(&error), "failed to watch the Lease");
                                retry_at = Instant::now() + self.config.retry();
                            }
                            None => retry_at = Instant::now() + self.config.retry(),
                        },
                        () = sleep_until(until) => (),
                    }
                }
            }
        }
    }

    fn observe(&mut self, event: Event<Lease>, listed: &mut Option<Record>) {
        let news = match event {
            Event::Init => {
                *listed = None;
                return;
            }
            Event::InitApply(lease) => {
                *listed = Some(Record::from_lease(&lease));
                return;
            }
            Event::InitDone => listed.take(),
            Event::Apply(lease) => Some(Record::from_lease(&lease)),
            Event::Delete(_) => None,
        };
        self.election.observe(news, LeaseSource::Watch, Instant::now());
    }

    /// Publishes whether and until when this process leads.
    fn publish(&mut self, now: Instant) {
        let before = *self.term.borrow();
        self.election.expire(now);
        let term = self.election.term();
        match (before, term) {
            (None, Some(term)) => tracing::info!(epoch = term.epoch, "became leader"),
            (Some(term), None) if now >= term.until => {
                tracing::warn!(epoch = term.epoch, "lost leadership: lease renewal timed out");
            }
            (Some(term), None) => {
                tracing::warn!(epoch = term.epoch, "lost leadership: another process holds the lease");
            }
            _ => {}
        }
        self.term.send_if_modified(|shown| std::mem::replace(shown, term) != term);
        let leader = self.election.leader().map(|(name, epoch)| (name.to_owned(), epoch));
        if let Some((_, epoch)) = &leader {
            self.count(*epoch);
        }
        if leader != self.logged_leader
            && term.is_none()
            && let Some((leader, epoch)) = &leader
        {
            tracing::info!(leader, epoch, "following another leader");
        }
        self.logged_leader = leader;
    }

    fn count(&self, epoch: i32) {
        let seen = u64::try_from(epoch).unwrap_or_default();
        if seen < self.transitions.get() {
            // The Lease was deleted, and made again.
            self.transitions.reset();
        }
        self.transitions.inc_by(seen - self.transitions.get());
    }

    async fn read(&mut self) {
        let sent = Instant::now();
        match in_time(self.config.patience(), self.api.get_opt(&self.config.name)).await {
            Ok(lease) => {
                self.healthy();
                self.election.observe(
                    lease.as_ref().map(Record::from_lease),
                    LeaseSource::Answer,
                    Instant::now(),
                );
            }
            Err(error) => {
                self.unhealthy(&error);
                self.election.failed(sent, Instant::now());
            }
        }
    }

    async fn claim(&mut self, version: Option<String>, epoch: i32) {
        // Before it is sent: the lease counts from here, whenever the answer comes.
        let sent = Instant::now();
        self.election.claims(epoch);
        let renews = self.election.term().is_some_and(|term| term.epoch == epoch);
        let now = MicroTime(self.clock.now());
        let spec = LeaseSpec {
            holder_identity: Some(self.config.identity.clone()),
            lease_duration_seconds: Some(whole_seconds(self.config.duration)),
            lease_transitions: Some(epoch),
            renew_time: Some(now.clone()),
            acquire_time: (!renews || version.is_none()).then_some(now),
            ..LeaseSpec::default()
        };
        let written = in_time(self.config.patience(), self.write(version, spec)).await;
        let answer = match written {
            Ok(lease) => {
                self.healthy();
                Claimed::Done(Record::from_lease(&lease))
            }
            // 404: it was deleted meanwhile.
            Err(error) if matches!(error.code(), Some(404 | 409)) => Claimed::Conflict,
            Err(error) => {
                self.unhealthy(&error);
                Claimed::Failed
            }
        };
        self.election.answered(answer, epoch, sent, Instant::now());
    }

    /// Writes into the Lease of exactly that version, or makes one. A patch, so that what others have put on
    /// the Lease stays (I9).
    async fn write(&self, version: Option<String>, spec: LeaseSpec) -> kube::Result<Lease> {
        let Some(version) = version else {
            let metadata = ObjectMeta {
                name: Some(self.config.name.clone()),
                namespace: Some(self.config.namespace.clone()),
                ..ObjectMeta::default()
            };
            let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
            return self.api.create(&params, &Lease { metadata, spec: Some(spec) }).await;
        };
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let patch = Patch::Merge(json!({ "metadata": { "resourceVersion": version }, "spec": spec }));
        self.api.patch(&self.config.name, &params, &patch).await
    }

    /// Empties the Lease, so that whoever stands by takes it at once. The fence closes first.
    async fn step_down(&mut self) {
        loop {
            let held = self.election.step_down();
            self.term.send_if_modified(|shown| shown.take().is_some());
            let Some(record) = held else { return };
            let spec = LeaseSpec {
                holder_identity: Some(String::new()),
                lease_duration_seconds: Some(whole_seconds(RELEASED)),
                lease_transitions: Some(record.epoch),
                renew_time: Some(MicroTime(self.clock.now())),
                ..LeaseSpec::default()
            };
            match in_time(self.config.patience(), self.write(Some(record.version), spec)).await {
                Ok(_) => {
                    tracing::info!(epoch = record.epoch, at = stamp(self.clock.now()), "released the Lease");
                    return;
                }
                Err(error) if error.code() == Some(404) => return,
                Err(error) => {
                    tracing::debug!(error = errors::chain(&error), "failed to release the Lease");
                    if error.code() != Some(409) {
                        tokio::time::sleep(self.config.retry()).await;
                    }
                    self.read().await;
                }
            }
        }
    }

    fn healthy(&mut self) {
        if std::mem::take(&mut self.failing) {
            tracing::info!("Lease is reachable again");
        }
    }

    /// Warns once per outage: what an outage means is logged when the term ends.
    fn unhealthy(&mut self, error: &LeaseError) {
        let error = errors::chain(error);
        if std::mem::replace(&mut self.failing, true) {
            tracing::debug!(error, "failed to reach the Lease");
        } else {
            tracing::warn!(error, leads = self.election.term().is_some(), "failed to reach the Lease");
        }
    }
}

async fn in_time<T>(
    limit: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, LeaseError> {
    match timeout(limit, request).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(LeaseError::Silence(limit)),
    }
}

/// Returns whole seconds for the Lease: never less than the duration.
fn whole_seconds(span: Duration) -> i32 {
    i32::try_from(span.as_millis().div_ceil(1000)).unwrap_or(i32::MAX)
}
