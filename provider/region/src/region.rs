//! One region: its services, who fedhub is to them, and its client (V7).

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fedhub_core::clock::Clock;
use fedhub_provider::{Failure, FailureKind, Server};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use hyper::body::Bytes;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;

use crate::config::{Auth, Region as RegionConfig, Url};
use crate::http::{Answer, Ask, Connections, Endpoint, EndpointConfig, TrustFiles};
use crate::ids::Uuid;
use crate::spec::ServerSpec;
use crate::token::TokenSource;

/// On whose behalf a request is, where a certificate says who sends it.
const PRINCIPAL: HeaderName = HeaderName::from_static("x-principal");
/// What is asked of the token endpoint at most: a token is for all requests of a region.
const TOKENS_IN_FLIGHT: u32 = 2;
const TOKENS_PER_SECOND: u32 = 2;
/// The most items that cannot be read of which it is remembered that they were told of.
const MOST_TOLD: usize = 256;

/// The longest answers: a list, and anything else.
pub const LIST: usize = 32 << 20;
/// See [`LIST`].
pub const ITEM: usize = 256 << 10;

/// The services of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Servers.
    Region,
    /// Quota.
    Identity,
}

/// Whether the service names servers by their network and name, so that a 404 of an expected ID proves that
/// there is no server (V3). Each process sees for itself: the service may have changed since the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// No server was seen yet.
    Unproven,
    /// A server was seen that is named so, and none that is not.
    Holds,
    /// A server was seen that is named otherwise. It stays so.
    Broken,
}

/// A region and its client.
pub struct Region {
    /// What the configuration says of it.
    pub config: RegionConfig,
    connections: Connections,
    servers: Endpoint,
    identity: Option<Endpoint>,
    access: Access,
    rule: Mutex<Rule>,
    /// Items of lists that could not be read and were told of.
    told: Mutex<BTreeSet<String>>,
}

enum Access {
    Token(Box<TokenSource>),
    /// A certificate, and the header with the principal.
    Certificate(HeaderValue),
}

impl Region {
    /// A region that is not asked yet. `seed` is that of its jitter.
    ///
    /// # Errors
    ///
    /// What is wrong with the files of its certificates.
    pub fn new(config: RegionConfig, seed: u64, clock: &Clock) -> Result<Self, String> {
        let files = TrustFiles {
            ca: config.ca_file.clone(),
            identity: match &config.auth {
                Auth::Mtls(mtls) => Some((mtls.cert_file.clone(), mtls.key_file.clone())),
                Auth::ClientCredentials(_) => None,
            },
        };
        let idle = usize::try_from(config.limits.max_in_flight).unwrap_or(1);
        let connections = Connections::new(files, idle)?;
        let name = &config.name;
        let service = |called: String, url: &Url, seed| {
            let (server, path) = url.parts();
            let limits = config.limits;
            let config = EndpointConfig {
                name: called,
                server,
                path: path.to_owned(),
                in_flight: limits.max_in_flight,
                per_second: limits.requests_per_second,
            };
            Endpoint::new(config, seed, clock.clone())
        };
        let servers = service(format!("region {name}"), &config.url, seed);
        let identity = config
            .identity_url
            .as_ref()
            .map(|url| service(format!("the quota of region {name}"), url, seed.wrapping_add(1)));
        let access = match &config.auth {
            Auth::ClientCredentials(client) => {
                let (server, path) = client.token_url.parts();
                let endpoint = EndpointConfig {
                    name: format!("the identity service of region {name}"),
                    server,
                    path: path.to_owned(),
                    in_flight: TOKENS_IN_FLIGHT,
                    per_second: TOKENS_PER_SECOND,
                };
                let endpoint = Endpoint::new(endpoint, seed.wrapping_add(2), clock.clone());
                let secret = client.client_secret_file.clone();
                Access::Token(Box::new(TokenSource::new(endpoint, client.client_id.clone(), secret)))
            }
            Auth::Mtls(mtls) => Access::Certificate(principal(&mtls.principal, config.organization_id)?),
        };
        let rule = Mutex::new(Rule::Unproven);
        Ok(Self { config, connections, servers, identity, access, rule, told: Mutex::default() })
    }

    /// Whether quota is taken at all.
    pub fn has_quota(&self) -> bool {
        self.identity.is_some()
    }

    /// Asks a question, or gives an order.
    ///
    /// # Errors
    ///
    /// [`Failure`] where there is no answer; an answer may be a refusal.
    pub async fn ask(&self, service: Service, method: Method, path: String) -> Result<Answer, Failure> {
        let limit = if method == Method::GET { LIST } else { ITEM };
        self.send(service, Ask { method, path, body: None, headers: HeaderMap::new(), limit }).await
    }

    /// Asks for one thing.
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask).
    pub async fn ask_item(&self, service: Service, path: String) -> Result<Answer, Failure> {
        let ask = Ask { method: Method::GET, path, body: None, headers: HeaderMap::new(), limit: ITEM };
        self.send(service, ask).await
    }

    /// Gives an order with a body.
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask).
    pub async fn order(
        &self,
        service: Service,
        method: Method,
        path: String,
        body: &impl Serialize,
    ) -> Result<Answer, Failure> {
        // Strings and numbers: this does not fail.
        let body = Bytes::from(serde_json::to_vec(body).unwrap_or_default());
        let body = Some((body, HeaderValue::from_static("application/json")));
        self.send(service, Ask { method, path, body, headers: HeaderMap::new(), limit: ITEM }).await
    }

    async fn send(&self, service: Service, ask: Ask) -> Result<Answer, Failure> {
        let endpoint = match (service, &self.identity) {
            (Service::Identity, Some(identity)) => identity,
            (Service::Region, _) => &self.servers,
            // Never the other service in its place: that one's 404 would prove that quota is given back.
            (Service::Identity, None) => return Err(self.without_identity()),
        };
        let source = match &self.access {
            Access::Token(source) => source,
            Access::Certificate(principal) => {
                let mut ask = ask;
                ask.headers.insert(PRINCIPAL, principal.clone());
                return endpoint.send(self.connections.wire().await, ask).await;
            }
        };
        let mut last = None;
        loop {
            let token = source.token(&self.connections).await?;
            let mut with_token = ask.clone();
            with_token.headers.insert(header::AUTHORIZATION, token.header());
            let answer = endpoint.send(self.connections.wire().await, with_token).await?;
            if answer.status != StatusCode::UNAUTHORIZED {
                token.worked();
                return Ok(answer);
            }
            let again = last.is_none() && source.refused(&token);
            if !again {
                return Ok(answer);
            }
            last = Some(token);
        }
    }

    /// Quota is recorded, and the configuration does not say any more who keeps it.
    fn without_identity(&self) -> Failure {
        Failure {
            kind: FailureKind::Denied,
            message: format!(
                "region {:?} has no identityUrl in the provider's configuration, and quota is taken there: put it \
                 back for as long as Instances hold quota",
                self.config.name
            ),
            after: None,
            may_have_acted: false,
        }
    }

    /// The ID that the service gives a server of this name on this network, unless it is known to have
    /// another rule.
    pub fn expected_id(&self, network: &str, name: &str) -> Option<Uuid> {
        let network: Uuid = network.parse().ok()?;
        (*self.rule.lock() != Rule::Broken).then(|| Uuid::for_server(network, name))
    }

    /// Whether the rule was seen to hold, so that there is no server of an expected ID where the service says
    /// so.
    pub fn proves_absence(&self) -> bool {
        *self.rule.lock() == Rule::Holds
    }

    /// Compares the ID of a server that was made for us with the rule.
    pub fn learn_rule(&self, network: &str, name: &str, id: &str) {
        let Some(expected) = self.expected_id(network, name) else { return };
        let holds = expected.to_string() == id;
        let mut rule = self.rule.lock();
        if *rule == Rule::Broken {
            return;
        }
        *rule = if holds { Rule::Holds } else { Rule::Broken };
        if !holds {
            tracing::error!(
                region = self.config.name,
                "the region names servers by an unknown rule, absence is not proven without their IDs"
            );
        }
    }

    /// Compares a server that was seen with the rule. One of a stranger proves nothing against it: it may
    /// have been given another name since.
    pub fn learn(&self, server: &Server<ServerSpec>) {
        let Server { id, name, place, .. } = server;
        let expected = self.expected_id(&place.network, name).map(|expected| expected.to_string());
        if server.instance.is_some() || expected.is_some_and(|expected| *expected == *id.0) {
            self.learn_rule(&place.network, name, &id.0);
        }
    }

    /// Says once of each item that it cannot be read.
    pub fn tell_unreadable(&self, unreadable: &[(String, String)]) {
        for (id, error) in unreadable {
            let mut told = self.told.lock();
            if told.len() < MOST_TOLD && told.insert(id.clone()) {
                let region = &self.config.name;
                tracing::warn!(region, id, error, "ignoring a server that cannot be read");
            }
        }
    }
}

/// The header that says on whose behalf requests are: the service wants one with each certificate.
fn principal(actor: &str, organization: Uuid) -> Result<HeaderValue, String> {
    let principal = json!({"actor": actor, "organizationId": organization.to_string()});
    HeaderValue::try_from(URL_SAFE_NO_PAD.encode(principal.to_string()))
        .map_err(|_| "auth.mtls.principal does not fit into a header".to_owned())
}
