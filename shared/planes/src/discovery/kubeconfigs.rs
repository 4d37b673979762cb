//! Discovery `kubeconfigs`: one plane for each labelled Secret in the process's own namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::hash;
use fedhub_core::names::{PLANE_NAME, PLANE_SECRET, PlaneName};
use fedhub_core::object::PlaneId;
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::Secret;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use tokio_util::sync::CancellationToken;

use super::credentials;
use super::expiry::{self, Expiry};
use crate::listwatch::resume::resumed;
use crate::registry::events::Events;
use crate::transport::Transport;
use crate::{Origin, Planes};

/// The key of the Secret that holds the kubeconfig.
const KEY: &str = "kubeconfig";

/// The labels by which Secrets of planes are listed.
pub fn selector() -> String {
    format!("{}={}", PLANE_SECRET.0, PLANE_SECRET.1)
}

/// The name of the plane that a Secret stands for: that of its annotation, else its own.
pub fn plane_of(secret: &impl Resource) -> &str {
    let metadata = secret.meta();
    let named = metadata.annotations.as_ref().and_then(|all| all.get(PLANE_NAME));
    named.or(metadata.name.as_ref()).map_or("", String::as_str)
}

/// A Secret that an engaged plane stands on.
struct Source {
    plane: PlaneName,
    content: u64,
    expires: Option<Expiry>,
}

/// Watches the Secrets and keeps the registry as they say.
pub struct Kubeconfigs {
    planes: Arc<Planes>,
    management: Client,
    namespace: String,
    transport: Transport,
    events: Events,
    sources: BTreeMap<String, Source>,
    /// Secrets whose plane's name is another Secret's for now.
    heirs: BTreeMap<String, Secret>,
    /// The names of all Secrets, including those that make no plane.
    seen: BTreeSet<String>,
}

impl Kubeconfigs {
    /// Discovery over the Secrets of `namespace` on the management plane.
    pub fn new(planes: Arc<Planes>, management: Client, namespace: &str, transport: Transport) -> Self {
        let events = Events::new(management.clone(), "fedhub").counting(planes.metrics());
        Self {
            planes,
            management,
            namespace: namespace.to_owned(),
            transport,
            events,
            sources: BTreeMap::new(),
            heirs: BTreeMap::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Runs until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        let api: Api<Secret> = Api::namespaced(self.management.clone(), &self.namespace);
        let config = watcher::Config::default().labels(&selector());
        let watch = move || watcher(api.clone(), config.clone());
        let stream = resumed(watch, self.management.clone().into(), self.planes.seed());
        pin_mut!(stream);
        let mut listed: Vec<String> = Vec::new();
        loop {
            let event = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                event = stream.next() => event,
            };
            match event {
                Some(Ok(Event::Init)) => listed.clear(),
                Some(Ok(Event::InitApply(secret))) => {
                    listed.push(secret.name_any());
                    self.applied(&secret);
                }
                Some(Ok(Event::InitDone)) => {
                    let gone: Vec<_> = self.seen.iter().filter(|s| !listed.contains(s)).cloned().collect();
                    for name in gone {
                        self.removed(&name);
                    }
                    self.planes.mark_discovered();
                    self.publish_expiry();
                }
                Some(Ok(Event::Apply(secret))) => {
                    self.applied(&secret);
                    self.publish_expiry();
                }
                Some(Ok(Event::Delete(secret))) => {
                    self.removed(&secret.name_any());
                    self.publish_expiry();
                }
                Some(Err(error)) => {
                    tracing::warn!(
                        namespace = self.namespace,
                        error = errors::chain(&error),
                        "failed to watch project-plane Secrets, keeping known planes"
                    );
                }
                None => {
                    tracing::error!("watch of project-plane Secrets ended: no new planes are discovered");
                    tokio::time::sleep(Duration::from_secs(30)).await;
                }
            }
        }
    }

    /// Publishes the first expiry over all planes in one series: there may be ten thousand planes.
    fn publish_expiry(&self) {
        let first = Expiry::first(self.sources.values().filter_map(|source| source.expires));
        expiry::publish("planes", first, self.planes.metrics());
    }

    fn applied(&mut self, secret: &Secret) {
        self.heirs.remove(&secret.name_any());
        self.seen.insert(secret.name_any());
        self.consider(secret);
        self.inherit();
    }

    /// Gives a plane's name that has become free to the Secrets that wait for it.
    fn inherit(&mut self) {
        for secret in std::mem::take(&mut self.heirs).into_values() {
            self.consider(&secret);
        }
    }

    fn consider(&mut self, secret: &Secret) {
        let name = secret.name_any();
        if let Err(reason) = self.engage(secret) {
            // A plane that works on older credentials goes on with them: safety over liveness.
            let about = (secret.object_ref(&()), self.events.clone());
            if self.planes.refuse(&name, &reason, Some(about)) {
                tracing::warn!(secret = name, reason, "ignoring invalid project-plane Secret");
            }
        }
    }

    fn engage(&mut self, secret: &Secret) -> Result<(), String> {
        let name = secret.name_any();
        let plane = PlaneName::new(plane_of(secret)).map_err(|e| e.to_string())?;
        if let Some((other, _)) = self.sources.iter().find(|(s, known)| **s != name && known.plane == plane) {
            let reason = format!("plane {plane} is named by Secret {other} already");
            self.heirs.insert(name, secret.clone());
            return Err(reason);
        }
        let content = secret
            .data
            .as_ref()
            .and_then(|d| d.get(KEY))
            .ok_or_else(|| format!("the Secret has no key {KEY:?}"))?;
        let content = std::str::from_utf8(&content.0).map_err(|_| format!("key {KEY:?} is not text"))?;
        let print = hash::text(content);
        if self.sources.get(&name).is_some_and(|known| known.plane == plane && known.content == print) {
            self.planes.accept(&name);
            return Ok(());
        }
        let config = credentials::from_secret(content).map_err(|e| errors::chain(&e))?;
        let id = PlaneId::Project(plane.clone());
        let server = self.transport.server(&config).map_err(|e| errors::chain(&e))?;
        let expires = Expiry::read(&config);
        let source = Source { plane: plane.clone(), content: print, expires };
        if let Some(old) = self.sources.insert(name.clone(), source).filter(|old| old.plane != plane) {
            self.planes.disengage(&old.plane);
        }
        self.planes.accept(&name);
        let about = Some((secret.object_ref(&()), self.events.clone()));
        let origin = Origin { about, ..Origin::default() };
        self.planes.engage_from(&plane, server.connection(&id), origin);
        Ok(())
    }

    fn removed(&mut self, secret: &str) {
        self.heirs.remove(secret);
        self.seen.remove(secret);
        if let Some(source) = self.sources.remove(secret) {
            self.planes.disengage(&source.plane);
        }
        self.planes.accept(secret);
        self.inherit();
    }
}
