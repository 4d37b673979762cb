//! Connections over sockets: with TLS and without, and with a certificate of the client.

use std::sync::Arc;

use axum::body::Body;
use fedhub_region::{Options, Region, Running, Tls};
use http::Request;
use http_body_util::BodyExt;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// How a client connects.
struct Way {
    /// The name in its certificate, if it shows one.
    service: Option<&'static str>,
    principal: bool,
    http2: bool,
}

async fn status(running: &Running, way: &Way) -> u16 {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(running.ca().unwrap().as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match way.service {
        Some(service) => {
            let [certificate, key] = running.client_certificate(service).unwrap();
            let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            builder.with_client_auth_cert(chain, key).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    if way.http2 {
        config.alpn_protocols = vec![b"h2".to_vec()];
    }
    let tcp = TcpStream::connect(running.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, tcp).await.unwrap();
    let mut request = Request::builder().uri("https://localhost/api/v2/servers").header("host", "localhost");
    if way.principal {
        request = request.header("x-principal", "e30");
    }
    let request = request.body(Body::empty()).unwrap();
    let response = if way.http2 {
        let executor = TokioExecutor::new();
        let (mut sender, connection) = http2::handshake(executor, TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    } else {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    };
    response.status().as_u16()
}

#[tokio::test]
async fn a_certificate_stands_in_for_a_token_where_it_is_of_a_service_and_names_its_principal() {
    let running = Region::start(Options { tls: Tls::Mutual, ..Options::default() }).await.unwrap();
    for (service, principal, http2, expected) in [
        (Some("fedhub"), true, false, 200),
        (Some("fedhub"), true, true, 200),
        (Some("fedhub"), false, false, 401),
        (Some("other"), true, false, 401),
        (None, true, true, 401),
    ] {
        let way = Way { service, principal, http2 };
        assert_eq!(status(&running, &way).await, expected, "{service:?} {principal} {http2}");
    }
}

#[tokio::test]
async fn a_region_goes_away_and_comes_back_with_the_same_certificates() {
    let options = Options { tls: Tls::Server, client: None, ..Options::default() };
    let running = Region::start(options).await.unwrap();
    let way = Way { service: None, principal: false, http2: false };
    assert_eq!(status(&running, &way).await, 200);
    let before = (running.address, running.ca(), running.region.clone());
    drop(running);
    let mut again = before.2.listen(before.0).await;
    while again.is_err() {
        // The task that listened ends soon after what held it.
        tokio::task::yield_now().await;
        again = before.2.listen(before.0).await;
    }
    let again = again.unwrap();
    assert_eq!((again.address, again.ca()), (before.0, before.1));
    assert_eq!(status(&again, &way).await, 200);
}

#[tokio::test]
async fn a_region_listens_on_a_free_port_without_tls() {
    let running = Region::start(Options { client: None, ..Options::default() }).await.unwrap();
    assert_eq!((running.url(), running.ca()), (format!("http://{}", running.address), None));
    assert!(running.client_certificate("fedhub").is_err());
    let tcp = TcpStream::connect(running.address).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(tcp)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::builder().uri("/api/v2/servers").header("host", "localhost");
    let response = sender.send_request(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "[]");
}
