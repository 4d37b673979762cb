//! The reviews that the cluster answers, and how long its answers stand.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::Context;
use fedhub_core::errors;
use k8s_openapi::api::authentication::v1::UserInfo;
use kube::api::{Api, PostParams};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::cache::{Cache, Digest, digest};
use super::gate::{Refusal, is_allowed, may_get, user, whose};
use crate::places::Places;

/// How long an answer stands that lets a caller in, and one that does not: a right that is taken away ends
/// within the first, one that is given counts within the second.
const STANDS: (Duration, Duration) = (Duration::from_mins(1), Duration::from_secs(10));
/// How many answers of each kind are remembered.
const REMEMBERED: usize = 512;
/// How many callers are asked about at a time.
const AT_ONCE: usize = 8;
/// How many questions of one address are under way at a time, those that wait for their turn included: four
/// addresses have all turns, and none of them another's.
const OF_ONE: usize = 2;
/// How long the answers may take: less than the ten seconds that Prometheus waits, so that it is told.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks the cluster, and remembers its answers.
pub struct Reviews {
    client: kube::Client,
    turns: Semaphore,
    callers: Places<IpAddr>,
    users: Mutex<Cache<Digest, Option<UserInfo>>>,
    /// The rights by token and path, both as digests: neither stays in memory.
    rights: Mutex<Cache<(Digest, Digest), bool>>,
    /// The error that was logged last, while the cluster cannot be asked.
    failure: Mutex<Option<String>>,
}

impl Reviews {
    /// Creates the reviews that are asked of the cluster of `client`.
    pub fn new(client: kube::Client) -> Self {
        Self {
            client,
            turns: Semaphore::new(AT_ONCE),
            callers: Places::new(OF_ONE),
            users: Mutex::new(Cache::with_capacity(REMEMBERED)),
            rights: Mutex::new(Cache::with_capacity(REMEMBERED)),
            failure: Mutex::default(),
        }
    }

    /// The user whose the token is, which that address has shown, if that user may get the path.
    pub async fn check(&self, caller: IpAddr, token: &str, path: &str) -> Result<String, Refusal> {
        let decided = tokio::time::timeout(PATIENCE, self.decide(caller, token, path)).await;
        match decided.with_context(|| format!("no answer within {PATIENCE:?}")).and_then(|decided| decided) {
            Ok(decision) => {
                if self.failure.lock().take().is_some() {
                    tracing::info!("caller reviews recovered");
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

    async fn decide(
        &self,
        caller: IpAddr,
        token: &str,
        path: &str,
    ) -> anyhow::Result<Result<String, Refusal>> {
        let key = (digest(token.as_bytes())?, digest(path.as_bytes())?);
        let user = self.users.lock().get(&key.0);
        let right = self.rights.lock().get(&key);
        // Only what has to be asked about needs a place.
        let place = match (&user, right) {
            (Some(None), _) | (Some(Some(_)), Some(_)) => None,
            _ => match self.callers.enter(&caller) {
                None => return Ok(Err(Refusal::Busy)),
                place => place,
            },
        };
        let user = match user {
            Some(known) => known,
            None => self.user(key.0, token).await?,
        };
        let Some(user) = user else { return Ok(Err(Refusal::InvalidToken)) };
        let may_get = match right {
            Some(known) => known,
            None => self.may_get(key, &user, path).await?,
        };
        drop(place);
        let user = user.username.unwrap_or_default();
        if may_get {
            return Ok(Ok(user));
        }
        Ok(Err(Refusal::Forbidden { user, path: path.to_owned() }))
    }

    async fn user(&self, digest: Digest, token: &str) -> anyhow::Result<Option<UserInfo>> {
        let turn = self.turns.acquire().await?;
        let answer = Api::all(self.client.clone()).create(&PostParams::default(), &whose(token)).await;
        drop(turn);
        let found = user(answer.context("failed to create a TokenReview")?);
        self.users.lock().put(digest, found.clone(), stands(found.is_some()));
        Ok(found)
    }

    async fn may_get(&self, key: (Digest, Digest), user: &UserInfo, path: &str) -> anyhow::Result<bool> {
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
