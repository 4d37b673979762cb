//! The reviews that the cluster answers, and how long its answers stand.

use std::time::Duration;

use anyhow::Context;
use fedhub_core::errors;
use k8s_openapi::api::authentication::v1::UserInfo;
use kube::api::{Api, PostParams};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::cache::{Cache, Digest, digest};
use super::gate::{Refusal, is_allowed, may_get, user, whose};

/// How long an answer stands that lets a caller in, and one that does not: a right that is taken away ends within the first,
/// one that is given counts within the second.
const STANDS: (Duration, Duration) = (Duration::from_mins(1), Duration::from_secs(10));
/// How many answers of each kind are remembered.
const REMEMBERED: usize = 512;
/// How many callers are asked about at a time.
const AT_ONCE: usize = 8;
/// How long the answers may take: less than the ten seconds that Prometheus waits, so that it is told.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks the cluster, and remembers its answers.
pub struct Reviews {
    client: kube::Client,
    turns: Semaphore,
    users: Mutex<Cache<Digest, Option<UserInfo>>>,
    rights: Mutex<Cache<(Digest, String), bool>>,
    /// What was logged last, while the cluster cannot be asked.
    failure: Mutex<Option<String>>,
}

impl Reviews {
    /// Of the cluster of `client`.
    pub fn of(client: kube::Client) -> Self {
        Self {
            client,
            turns: Semaphore::new(AT_ONCE),
            users: Mutex::new(Cache::of(REMEMBERED)),
            rights: Mutex::new(Cache::of(REMEMBERED)),
            failure: Mutex::default(),
        }
    }

    /// The user whose the token is, if that user may get the path.
    pub async fn check(&self, token: &str, path: &str) -> Result<String, Refusal> {
        let decided = tokio::time::timeout(PATIENCE, self.decide(token, path)).await;
        match decided.with_context(|| format!("no answer within {PATIENCE:?}")).and_then(|decided| decided) {
            Ok(decision) => {
                if self.failure.lock().take().is_some() {
                    tracing::info!("reviews of callers succeed again");
                }
                decision
            }
            Err(error) => {
                let error = errors::chain(error.as_ref());
                let mut last = self.failure.lock();
                if last.as_ref() != Some(&error) {
                    tracing::warn!(error, "failed to review a caller, refusing the request");
                    *last = Some(error);
                }
                Err(Refusal::ReviewFailed)
            }
        }
    }

    async fn decide(&self, token: &str, path: &str) -> anyhow::Result<Result<String, Refusal>> {
        let digest = digest(token.as_bytes())?;
        let Some(user) = self.user(digest, token).await? else { return Ok(Err(Refusal::InvalidToken)) };
        let may_get = self.may_get(digest, &user, path).await?;
        let user = user.username.unwrap_or_default();
        if may_get {
            return Ok(Ok(user));
        }
        Ok(Err(Refusal::Forbidden { user, path: path.to_owned() }))
    }

    async fn user(&self, digest: Digest, token: &str) -> anyhow::Result<Option<UserInfo>> {
        if let Some(known) = self.users.lock().get(&digest) {
            return Ok(known);
        }
        let turn = self.turns.acquire().await?;
        let answer = Api::all(self.client.clone()).create(&PostParams::default(), &whose(token)).await;
        drop(turn);
        let found = user(answer.context("failed to create a TokenReview")?);
        self.users.lock().put(digest, found.clone(), stands(found.is_some()));
        Ok(found)
    }

    async fn may_get(&self, digest: Digest, user: &UserInfo, path: &str) -> anyhow::Result<bool> {
        let key = (digest, path.to_owned());
        if let Some(known) = self.rights.lock().get(&key) {
            return Ok(known);
        }
        let turn = self.turns.acquire().await?;
        let answer = Api::all(self.client.clone()).create(&PostParams::default(), &may_get(user, path)).await;
        drop(turn);
        let allowed = is_allowed(&answer.context("failed to create a SubjectAccessReview")?);
        self.rights.lock().put(key, allowed, stands(allowed));
        Ok(allowed)
    }
}

fn stands(allowed: bool) -> Duration {
    if allowed { STANDS.0 } else { STANDS.1 }
}
