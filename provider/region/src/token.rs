//! Tokens of `OAuth2`: kept for as long as they are good, renewed before they end, by one request for all
//! (V7). Nobody queues for it: who has a good token goes on with it, and who has none soon hears to come
//! again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fedhub_provider::{Failure, FailureKind};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use hyper::body::Bytes;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, timeout};
use zeroize::Zeroizing;

use crate::http::{Answer, Ask, Connections, Endpoint};

/// The longest answer with a token.
const LIMIT: usize = 64 << 10;
/// How long a token is good that does not say so, and at least and at most, whatever it says.
const UNSAID: u64 = 300;
const SHORTEST: u64 = 5;
const LONGEST: u64 = 24 * 60 * 60;
/// How long before its end a token is renewed, or a fifth of its time where that is less.
const MARGIN: Duration = Duration::from_mins(1);
/// How soon after a failure, or after a token that was refused at once, another one is asked for.
const AGAIN: Duration = Duration::from_secs(5);

/// How long who has no token waits for the one that is being asked for: as long as an identity service takes
/// that is well, and not as long as one may take that is not, for whoever waits holds a worker.
const PATIENCE: Duration = Duration::from_millis(250);
/// When who waited in vain is to come again.
const COME_AGAIN: Duration = Duration::from_secs(1);

/// A token, as a header of requests.
#[derive(Debug)]
pub struct Token {
    header: HeaderValue,
    fetched: Instant,
    renew_at: Instant,
    ends: Instant,
    worked: AtomicBool,
}

impl Token {
    /// The value of the header `Authorization`.
    pub fn header(&self) -> HeaderValue {
        self.header.clone()
    }

    /// A request with it was let in.
    pub fn worked(&self) {
        self.worked.store(true, Ordering::Relaxed);
    }
}

/// Where tokens come from.
pub struct TokenSource {
    endpoint: Endpoint,
    client_id: String,
    secret_file: PathBuf,
    state: Mutex<State>,
    /// Held by the one who asks for a token.
    asking: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    token: Option<Arc<Token>>,
    /// The last failure, and when it was.
    failed: Option<(Instant, Failure)>,
}

/// What there is without a request.
enum Known {
    /// A token to go on with.
    Good(Arc<Token>),
    /// A token that is good, and about to end.
    Ending(Arc<Token>),
    /// No token that is good.
    Nothing,
}

/// The answer with a token. Whatever else it says is not looked at.
#[derive(Deserialize)]
struct Granted {
    access_token: String,
    #[serde(default)]
    expires_in: Value,
}

impl TokenSource {
    /// Tokens of a client, by its secret in a file, which is read for each token.
    pub fn new(endpoint: Endpoint, client_id: String, secret_file: PathBuf) -> Self {
        Self {
            endpoint,
            client_id,
            secret_file,
            state: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        }
    }

    /// A token that is good now. Whoever comes while it is being asked for goes on with the one that there
    /// is, or waits a moment for the same one.
    ///
    /// # Errors
    ///
    /// [`Failure`]: `Denied` where the client is refused, `Unavailable` where there is no answer, or not yet.
    pub async fn token(&self, connections: &Connections) -> Result<Arc<Token>, Failure> {
        let standing = match self.known()? {
            Known::Good(token) => return Ok(token),
            Known::Ending(token) => Some(token),
            Known::Nothing => None,
        };
        let _asking = match (self.asking.try_lock(), standing) {
            (Ok(asking), _) => asking,
            (Err(_), Some(token)) => return Ok(token),
            (Err(_), None) => timeout(PATIENCE, self.asking.lock()).await.map_err(|_| {
                let failure = self.failure(FailureKind::Unavailable, "there is no answer yet");
                Failure { after: Some(COME_AGAIN), ..failure }
            })?,
        };
        // Another one may have got a token, or a failure, in the meantime.
        let standing = match self.known()? {
            Known::Good(token) => return Ok(token),
            Known::Ending(token) => Some(token),
            Known::Nothing => None,
        };
        let fetched = self.fetch(connections).await;
        let mut state = self.state.lock();
        match fetched {
            Ok(token) => {
                let token = Arc::new(token);
                state.token = Some(token.clone());
                state.failed = None;
                Ok(token)
            }
            Err(failure) => {
                state.failed = Some((Instant::now(), failure.clone()));
                if let Some(token) = standing {
                    tracing::warn!(error = %failure, "failed to renew the token, using it to its end");
                    return Ok(token);
                }
                state.token = None;
                Err(failure)
            }
        }
    }

    /// What there is without a request.
    ///
    /// # Errors
    ///
    /// The last failure, where it is too early for another request and no token is good.
    fn known(&self) -> Result<Known, Failure> {
        let state = self.state.lock();
        let now = Instant::now();
        let standing = state.token.clone().filter(|token| now < token.ends);
        if let Some(token) = standing.as_ref().filter(|token| now < token.renew_at) {
            return Ok(Known::Good(token.clone()));
        }
        if let Some((at, failure)) = &state.failed {
            let elapsed = now.saturating_duration_since(*at);
            if elapsed < AGAIN {
                let after = Some(failure.after.unwrap_or(AGAIN.saturating_sub(elapsed)));
                return standing.map(Known::Good).ok_or_else(|| Failure { after, ..failure.clone() });
            }
        }
        Ok(standing.map_or(Known::Nothing, Known::Ending))
    }

    /// A request with this token was answered with 401. Returns whether to ask once more, with another one: a
    /// token may end early, but one that was never let in is not renewed again and again, for an identity
    /// service that is away refuses all of them.
    pub fn refused(&self, token: &Arc<Token>) -> bool {
        let mut state = self.state.lock();
        let Some(current) = &state.token else { return true };
        if !Arc::ptr_eq(current, token) {
            return true;
        }
        let renew = token.worked.load(Ordering::Relaxed) || token.fetched.elapsed() >= AGAIN;
        if renew {
            state.token = None;
        }
        renew
    }

    async fn fetch(&self, connections: &Connections) -> Result<Token, Failure> {
        let secret = self.secret().await?;
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "client_credentials")
            .append_pair("client_id", &self.client_id)
            .append_pair("client_secret", &secret)
            .finish();
        let ask = Ask {
            method: Method::POST,
            path: String::new(),
            body: Some((Bytes::from(form), HeaderValue::from_static("application/x-www-form-urlencoded"))),
            headers: HeaderMap::new(),
            limit: LIMIT,
        };
        let asked = Instant::now();
        let wire = connections.wire().await;
        // That a token may have been made and lost is of no matter.
        let answer = self
            .endpoint
            .send(wire, ask)
            .await
            .map_err(|failure| Failure { may_have_acted: false, ..failure })?;
        self.granted(&answer, asked)
    }

    async fn secret(&self) -> Result<Zeroizing<String>, Failure> {
        let file = &self.secret_file;
        let text = tokio::fs::read_to_string(file).await.map(Zeroizing::new).map_err(|error| {
            self.failure(FailureKind::Denied, &format!("failed to read {}: {error}", file.display()))
        })?;
        Ok(Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned()))
    }

    fn granted(&self, answer: &Answer, asked: Instant) -> Result<Token, Failure> {
        if answer.status != StatusCode::OK {
            // The description may repeat what was sent; the code is one of a few words.
            let kind = match answer.status.as_u16() {
                300..=399 | 400 | 401 | 403 | 404 => FailureKind::Denied,
                _ => FailureKind::Unavailable,
            };
            let failure = self.failure(kind, &format!("it answered {}", answer.status));
            return Err(Failure { after: answer.after, ..failure });
        }
        let granted: Granted =
            answer.json().map_err(|_| self.failure(FailureKind::Unavailable, "its answer holds no token"))?;
        let mut header = HeaderValue::try_from(format!("Bearer {}", granted.access_token))
            .map_err(|_| self.failure(FailureKind::Unavailable, "its token does not fit into a header"))?;
        header.set_sensitive(true);
        let lifetime =
            Duration::from_secs(granted.expires_in.as_u64().unwrap_or(UNSAID).clamp(SHORTEST, LONGEST));
        let margin = MARGIN.min(lifetime / 5);
        Ok(Token {
            header,
            fetched: asked,
            renew_at: asked + lifetime.saturating_sub(margin),
            ends: asked + lifetime,
            worked: AtomicBool::new(false),
        })
    }

    fn failure(&self, kind: FailureKind, why: &str) -> Failure {
        let message = format!("failed to get a token of {}: {why}", self.endpoint.name());
        Failure { kind, message, after: None, may_have_acted: false }
    }
}
