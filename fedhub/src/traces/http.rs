//! How batches of spans travel: over hyper, as the exporter asks.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use fedhub_core::errors;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::ConfigExt;
use opentelemetry_http::{HttpClient, HttpError};
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::Handle;

use super::settings::Settings;

/// How large an answer may be, in bytes: it says what was refused.
const ANSWER: usize = 64 << 10;

/// Sends requests from the exporter's own thread, which has no runtime, in that of the process.
#[derive(Debug)]
pub struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    timeout: Duration,
    runtime: Handle,
    /// The error that was logged last, while exports fail.
    failure: Arc<Mutex<Option<String>>>,
}

impl Http {
    /// Creates a client with these settings, in the current runtime.
    pub fn from_settings(settings: &Settings) -> anyhow::Result<Self> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        let connector = HttpsConnector::from((connector, Arc::new(trust(settings)?)));
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let timeout = settings.timeout;
        let runtime = Handle::current();
        Ok(Self { client, timeout, runtime, failure: Arc::default() })
    }
}

/// Returns which CA an HTTPS endpoint is verified by, and the client certificate that it is shown.
fn trust(settings: &Settings) -> anyhow::Result<ClientConfig> {
    if !settings.is_tls {
        // Plain HTTP needs no CAs, and where the process runs there may be none.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        return Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
    }
    let mut config = Config::new(http::Uri::from_static("https://localhost"));
    if let Some(ca) = &settings.ca {
        let certificates: Result<Vec<_>, _> =
            CertificateDer::pem_file_iter(ca).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let certificates = certificates.with_context(|| format!("failed to read the CA {}", ca.display()))?;
        config.root_cert = Some(certificates.into_iter().map(|der| der.to_vec()).collect());
    }
    if let Some((certificate, key)) = &settings.identity {
        config.auth_info.client_certificate = Some(certificate.display().to_string());
        config.auth_info.client_key = Some(key.display().to_string());
    }
    Ok(config.rustls_client_config()?)
}

impl HttpClient for Http {
    fn send_bytes<'client, 'sent>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'sent>>
    where
        'client: 'sent,
        Self: 'sent,
    {
        let sent = self.client.request(request.map(Full::new));
        let timeout = self.timeout;
        let failure = self.failure.clone();
        let answered = self.runtime.spawn(async move {
            let answered = tokio::time::timeout(timeout, async {
                let (head, body) = sent.await?.into_parts();
                let body = Limited::new(body, ANSWER).collect().await?.to_bytes();
                Ok::<_, HttpError>(Response::from_parts(head, body))
            });
            let answered =
                answered.await.unwrap_or_else(|_| Err(format!("no answer within {timeout:?}").into()));
            note(&failure, &answered);
            answered
        });
        Box::pin(async move { answered.await? })
    }
}

/// Says once that exports fail, and once that they do not any more.
fn note(failure: &Mutex<Option<String>>, answered: &Result<Response<Bytes>, HttpError>) {
    let error = match answered {
        Ok(answer) if answer.status().is_success() => None,
        Ok(answer) => Some(format!("the endpoint answered {}", answer.status())),
        Err(error) => Some(errors::chain(error.as_ref())),
    };
    let mut last = failure.lock();
    match &error {
        None if last.is_some() => tracing::info!("trace export recovered"),
        Some(error) if last.as_ref() != Some(error) => {
            tracing::warn!(error, "failed to export traces, dropping what does not fit into the queue");
        }
        _ => {}
    }
    *last = error;
}
