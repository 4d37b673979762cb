//! Whether a plane serves a kind, as its discovery says. A server that is starting answers 404 to what it will serve.

use std::collections::BTreeSet;
use std::time::Duration;

use fedhub_core::object::Kind;
use kube::Client;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// The longest time that discovery may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long what it said counts: the kinds that a plane does not serve turn out so together when it is engaged, and what
/// it says of a server that is starting is soon another thing.
const MOMENT: Duration = Duration::from_millis(250);

/// What the discovery of a plane said a moment ago.
#[derive(Debug, Default)]
pub(crate) struct Discovery(Mutex<Option<Said>>);

/// Which `apiVersion`s of ours it does not know.
#[derive(Debug)]
struct Said {
    since: Instant,
    /// Those that have no resources.
    unserved: Vec<&'static str>,
    /// Those that the list of all groups does not name, once it was asked for.
    unlisted: Option<Vec<&'static str>>,
}

impl Discovery {
    /// Whether it answers, and does not name the kind.
    pub async fn is_without(&self, client: &Client, kind: Kind) -> bool {
        if kind.resource().group.is_empty() {
            return false;
        }
        timeout(PATIENCE, self.asked(client, kind)).await.is_ok_and(|asked| asked.unwrap_or(false))
    }

    async fn asked(&self, client: &Client, kind: Kind) -> Result<bool, kube::Error> {
        let (version, plural) = (kind.resource().api_version.as_str(), &kind.resource().plural);
        let mut last = self.0.lock().await;
        last.take_if(|said| said.since.elapsed() > MOMENT);
        let said = last.get_or_insert_with(Said::now);
        if !said.unserved.contains(&version) {
            match client.list_api_group_resources(version).await {
                Ok(listed) => return Ok(!listed.resources.iter().any(|served| served.name == *plural)),
                Err(kube::Error::Api(status)) if status.code == 404 => said.unserved.push(version),
                Err(error) => return Err(error),
            }
        }
        if said.unlisted.is_none() {
            said.unlisted = Some(unlisted(client).await?);
        }
        Ok(said.unlisted.as_ref().is_some_and(|unlisted| unlisted.contains(&version)))
    }
}

impl Said {
    fn now() -> Self {
        Self { since: Instant::now(), unserved: Vec::new(), unlisted: None }
    }
}

/// The `apiVersion`s of ours that the list of all groups does not name.
async fn unlisted(client: &Client) -> Result<Vec<&'static str>, kube::Error> {
    let listed = client.list_api_groups().await?;
    let listed = |version: &str| {
        listed.groups.iter().flat_map(|group| &group.versions).any(|served| served.group_version == version)
    };
    let ours: BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.resource().api_version.as_str()).collect();
    Ok(ours.into_iter().filter(|version| !listed(version)).collect())
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
        let (client, discovery) = (server.client(), Discovery::default());
        for kind in [Kind::LocationBinding, Kind::Network, Kind::ServiceEntitlement] {
            assert!(discovery.is_without(&client, kind).await, "{kind:?}");
        }
        let (networking, services) =
            ("/apis/networking.datumapis.com/v1alpha", "/apis/services.miloapis.com/v1alpha1");
        assert_eq!(asked(&server), [networking, "/apis", services]);
        let location =
            Resource::custom("networking.datumapis.com", "v1alpha", "LocationBinding", "locationbindings");
        server.register(location.cluster_scoped());
        tokio::time::advance(MOMENT + Duration::from_millis(1)).await;
        assert!(!discovery.is_without(&client, Kind::LocationBinding).await, "served by now");
        assert!(discovery.is_without(&client, Kind::Network).await);
        assert!(discovery.is_without(&client, Kind::Workload).await, "others of its version are served");
        assert!(!discovery.is_without(&client, Kind::Secret).await, "of the core group");
    }

    #[tokio::test(start_paused = true)]
    async fn i4_what_discovery_does_not_answer_is_not_taken_for_absent() {
        let server = ApiServer::project_plane("alpha");
        let (client, discovery) = (server.client(), Discovery::default());
        let version = "/apis/networking.datumapis.com/v1alpha";
        for path in [version, "/apis"] {
            let fault = server.fault(Fault::Status(503).on("get", path));
            assert!(!discovery.is_without(&client, Kind::Network).await, "{path}");
            server.clear_fault(fault);
        }
        assert!(discovery.is_without(&client, Kind::Network).await);
    }
}
