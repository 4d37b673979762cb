//! What the discovery of a server says of the kinds that fedhub knows. A server that is starting answers 404
//! to what it will serve; what an answer names of others is not kept.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::object::Kind;
use kube::Client;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// The longest time that discovery may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long what it said counts: the kinds that a server does not serve turn out so together when its planes
/// are engaged, and what it says while it is starting is soon another thing.
const MOMENT: Duration = Duration::from_millis(250);

/// The recent answer of a server's discovery. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServedKinds(Arc<Mutex<Option<Answer>>>);

/// An answer, as far as it was asked for.
#[derive(Debug)]
struct Answer {
    since: Instant,
    /// The `apiVersion`s of ours that it names.
    versions: BTreeSet<&'static str>,
    /// The `apiVersion`s whose kinds were asked for.
    asked: BTreeSet<&'static str>,
    /// The kinds of those.
    kinds: BTreeSet<Kind>,
}

impl ServedKinds {
    /// Tells servers apart.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Whether it names the kind; nothing where it does not answer. The client is made when there is
    /// something to ask: thousands of planes of one server wait here for its one answer.
    pub async fn names(&self, client: impl Fn() -> Client, kind: Kind) -> Option<bool> {
        if kind.resource().group.is_empty() {
            return Some(true);
        }
        timeout(PATIENCE, self.ask(client, kind)).await.ok()?.ok()
    }

    async fn ask(&self, client: impl Fn() -> Client, kind: Kind) -> Result<bool, kube::Error> {
        let version = kind.resource().api_version.as_str();
        let mut last = self.0.lock().await;
        last.take_if(|answer| answer.since.elapsed() > MOMENT);
        let answer = match &mut *last {
            Some(answer) => answer,
            None => last.insert(Answer::from_client(&client()).await?),
        };
        if answer.versions.contains(version) && !answer.asked.contains(version) {
            let listed = client().list_api_group_resources(version).await?;
            answer.kinds.extend(Kind::ALL.iter().copied().filter(|kind| {
                let resource = kind.resource();
                resource.api_version == version
                    && listed.resources.iter().any(|it| it.name == resource.plural)
            }));
            answer.asked.insert(version);
        }
        Ok(answer.kinds.contains(&kind))
    }
}

impl Answer {
    async fn from_client(client: &Client) -> Result<Self, kube::Error> {
        let listed = client.list_api_groups().await?;
        let named: BTreeSet<_> = listed
            .groups
            .iter()
            .flat_map(|group| &group.versions)
            .map(|it| it.group_version.as_str())
            .collect();
        let ours = Kind::ALL.iter().map(|kind| kind.resource().api_version.as_str());
        Ok(Self {
            since: Instant::now(),
            versions: ours.filter(|version| named.contains(version)).collect(),
            asked: BTreeSet::new(),
            kinds: BTreeSet::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use fedhub_fake_apiserver::{ApiServer, Fault, Resource};

    use super::*;

    /// The paths of discovery that were asked for, in order.
    fn asked(server: &ApiServer) -> Vec<String> {
        let paths = server.audit().into_iter().map(|entry| entry.resource);
        paths.filter(|path| path.starts_with("/apis")).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn w7_i4_kinds_that_are_absent_together_ask_once_and_a_moment_later_again() {
        let server = ApiServer::project_plane("alpha");
        let client = server.client();
        let discovery = ServedKinds::default();
        for kind in [Kind::LocationBinding, Kind::Network, Kind::ServiceEntitlement, Kind::Workload] {
            assert_eq!(discovery.clone().names(|| client.clone(), kind).await, Some(false), "{kind:?}");
        }
        assert_eq!(discovery.names(|| client.clone(), Kind::Instance).await, Some(true));
        assert_eq!(asked(&server), ["/apis", "/apis/compute.datumapis.com/v1alpha"]);
        let location =
            Resource::custom("networking.datumapis.com", "v1alpha", "LocationBinding", "locationbindings");
        server.register(location.cluster_scoped());
        tokio::time::advance(MOMENT + Duration::from_millis(1)).await;
        assert_eq!(
            discovery.names(|| client.clone(), Kind::LocationBinding).await,
            Some(true),
            "served by now"
        );
        assert_eq!(discovery.names(|| client.clone(), Kind::Network).await, Some(false));
        assert_eq!(discovery.names(|| client.clone(), Kind::Secret).await, Some(true), "of the core group");
    }

    #[tokio::test(start_paused = true)]
    async fn i4_what_discovery_does_not_answer_is_not_known() {
        let server = ApiServer::project_plane("alpha");
        let client = server.client();
        let discovery = ServedKinds::default();
        for path in ["/apis", "/apis/compute.datumapis.com/v1alpha"] {
            let fault = server.fault(Fault::Status(503).on("get", path));
            assert_eq!(discovery.names(|| client.clone(), Kind::Workload).await, None, "{path}");
            server.clear_fault(fault);
        }
        assert_eq!(discovery.names(|| client.clone(), Kind::Workload).await, Some(false));
    }
}
