//! The fleet over real sockets: every way to speak with it, faults as a client meets them, what is counted.

use std::io::Cursor;
use std::net::SocketAddr;
use std::sync::Arc;

use fedhub_fake_apiserver::conformance;
use fedhub_fake_apiserver::fleet::kubeconfig::kubeconfig;
use fedhub_fake_apiserver::fleet::{Fleet, FleetService, Settings};
use fedhub_fake_apiserver::http::{self as speak, Identity};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::api::{DynamicObject, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

const PROJECT: &str = "/apis/resourcemanager.miloapis.com/v1alpha1/projects/p-00001/control-plane";

struct Served {
    fleet: Fleet,
    identity: Identity,
    address: SocketAddr,
}

async fn served() -> Served {
    let fleet = Fleet::new(&Settings::new(2)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let identity = Identity::generate(&["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let serving = identity.clone();
    let service = fleet.service();
    let census = fleet.census();
    tokio::spawn(async move {
        let settings = speak::Settings { streams: 7 };
        speak::serve::<FleetService>(listener, &serving, settings, service, census).await;
    });
    Served { fleet, identity, address }
}

type Answer = Result<(u16, hyper::HeaderMap, Bytes), hyper::Error>;

/// One connection that speaks one of the two.
enum Wire {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

impl Wire {
    async fn over(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, two: bool) -> Self {
        if two {
            let (send, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(io)).await.unwrap();
            tokio::spawn(connection);
            return Self::Two(send);
        }
        let (send, connection) = http1::handshake(TokioIo::new(io)).await.unwrap();
        tokio::spawn(connection);
        Self::One(send)
    }

    async fn send(
        &mut self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<hyper::Response<Incoming>, hyper::Error> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let uri = format!("http://localhost{path}");
        let request = Request::builder().method(method).uri(uri).header("host", "localhost");
        let request = request.body(Full::new(Bytes::from(body))).unwrap();
        match self {
            Self::One(send) => {
                send.ready().await?;
                send.send_request(request).await
            }
            Self::Two(send) => {
                send.ready().await?;
                send.send_request(request).await
            }
        }
    }

    async fn ask(&mut self, method: &str, path: &str, body: Value) -> Answer {
        let (parts, body) = self.send(method, path, &body).await?.into_parts();
        Ok((parts.status.as_u16(), parts.headers, body.collect().await?.to_bytes()))
    }
}

impl Served {
    async fn plain(&self, two: bool) -> Wire {
        Wire::over(TcpStream::connect(self.address).await.unwrap(), two).await
    }

    async fn tls(&self, protocol: &[u8]) -> Wire {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_reader_iter(Cursor::new(self.identity.ca())) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        let tcp = TcpStream::connect(self.address).await.unwrap();
        let name = "localhost".try_into().unwrap();
        let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp).await.unwrap();
        assert_eq!(tls.get_ref().1.alpn_protocol(), Some(protocol));
        Wire::over(tls, protocol == b"h2").await
    }
}

fn json_of(bytes: &Bytes) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[tokio::test]
async fn both_versions_of_http_are_spoken_with_tls_and_without() {
    let served = served().await;
    let wires = [
        served.plain(false).await,
        served.plain(true).await,
        served.tls(b"h2").await,
        served.tls(b"http/1.1").await,
    ];
    for mut wire in wires {
        for (prefix, count) in [("", 4), ("/hub", 2), (PROJECT, 3)] {
            let path = format!("{prefix}/api/v1/namespaces");
            let (code, _, body) = wire.ask("GET", &path, Value::Null).await.unwrap();
            let items = json_of(&body)["items"].as_array().map(Vec::len);
            assert!(code == 200 && items.is_some_and(|n| n + 1 >= count), "{path}: {code} {items:?}");
        }
        let other = PROJECT.replace("p-00001", "p-77777");
        let (code, ..) = wire.ask("GET", &format!("{other}/api/v1/namespaces"), Value::Null).await.unwrap();
        assert_eq!(code, 404);
    }
    assert_eq!(served.fleet.census().count().accepted, 4);
}

impl Served {
    /// kube's own client, by the kubeconfig of a plane whose path is `prefix`.
    async fn client(&self, prefix: &str) -> kube::Client {
        let _first = rustls::crypto::ring::default_provider().install_default();
        let url = format!("https://{}{prefix}", self.address);
        let text = kubeconfig("plane", &url, self.identity.ca()).to_string();
        let kubeconfig = Kubeconfig::from_yaml(&text).unwrap();
        let config =
            kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        kube::Client::try_from(config).unwrap()
    }
}

#[tokio::test]
async fn a_plane_answers_as_a_kube_apiserver_does() {
    let served = served().await;
    served.fleet.plane("p-00001").unwrap().register(conformance::widget());
    let client = served.client(PROJECT).await;
    let outcomes = conformance::run(&client, "conformance", |_| ()).await;
    let faults: Vec<_> = outcomes.iter().filter(|outcome| outcome.fault.is_some()).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(outcomes.len() > 80, "{} steps", outcomes.len());
}

#[tokio::test]
async fn a_kubeconfig_leads_to_its_plane() {
    let served = served().await;
    let client = served.client("").await;
    let resource = kube::api::ApiResource {
        group: "resourcemanager.miloapis.com".into(),
        version: "v1alpha1".into(),
        api_version: "resourcemanager.miloapis.com/v1alpha1".into(),
        kind: "Project".into(),
        plural: "projects".into(),
    };
    let projects: kube::Api<DynamicObject> = kube::Api::all_with(client, &resource);
    let projects = projects.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(projects.len(), 2);
    assert!(projects.iter().all(|p| p.data["status"]["conditions"][0]["type"] == "Ready"));
}

#[tokio::test]
async fn i8_a_fault_of_one_plane_leaves_the_others_on_its_connection_alone() {
    let served = served().await;
    let mut wire = served.tls(b"h2").await;
    let bad = format!("{PROJECT}/api/v1/namespaces");
    let good = PROJECT.replace("p-00001", "p-00000");
    let good = format!("{good}/api/v1/namespaces");
    let faults = "/control/planes/p-00001/faults";
    for (fault, code) in [
        (json!({ "fault": "disconnect" }), None),
        (json!({ "fault": "cut-short" }), None),
        (json!({ "fault": "lost-answer" }), None),
        (json!({ "fault": "status", "code": 401 }), Some(401)),
        (json!({ "fault": "throttle", "retry_after": 7 }), Some(429)),
        (json!({ "fault": "html" }), Some(200)),
        (json!({ "fault": "slow", "millis": 20 }), Some(200)),
    ] {
        assert_eq!(wire.ask("POST", faults, fault.clone()).await.unwrap().0, 200);
        let answer = wire.ask("GET", &bad, Value::Null).await;
        assert_eq!(answer.as_ref().ok().map(|answer| answer.0), code, "{fault}");
        if code == Some(429) {
            assert_eq!(answer.unwrap().1["retry-after"], "7");
        }
        assert_eq!(wire.ask("GET", &good, Value::Null).await.unwrap().0, 200, "{fault}");
        wire.ask("DELETE", faults, Value::Null).await.unwrap();
        assert_eq!(wire.ask("GET", &bad, Value::Null).await.unwrap().0, 200, "lifted: {fault}");
    }
    assert_eq!(served.fleet.census().count().accepted, 1, "all on one connection");
    let nonsense = wire.ask("POST", faults, json!({ "fault": "rain" })).await.unwrap();
    assert_eq!(nonsense.0, 400);
}

#[tokio::test]
async fn streams_and_requests_are_counted() {
    let served = served().await;
    let mut wire = served.tls(b"h2").await;
    let path = format!("{PROJECT}/api/v1/namespaces?watch=true");
    let mut watches = Vec::new();
    for _ in 0..3 {
        let mut watch = wire.send("GET", &path, &Value::Null).await.unwrap();
        watch.frame().await.unwrap().unwrap();
        watches.push(watch);
    }
    let (_, _, body) = wire.ask("GET", "/control/counters?plane=p-00001", Value::Null).await.unwrap();
    let counters = json_of(&body);
    assert_eq!(counters["open"], json!({ "connections": 1, "accepted": 1, "streams": 4, "most_streams": 4 }));
    let counted = json!({
        "plane": "p-00001", "verb": "watch", "resource": "namespaces", "dry_run": false, "code": 200, "count": 3,
    });
    assert_eq!(counters["requests"], json!([counted]));
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    wire.ask("POST", &format!("{PROJECT}/api/v1/namespaces/default/configmaps"), map).await.unwrap();
    let (_, _, body) = wire.ask("GET", "/control/counters", Value::Null).await.unwrap();
    assert_eq!((json_of(&body)["writes"].as_u64(), json_of(&body)["total"].as_u64()), (Some(1), Some(4)));
    wire.ask("DELETE", "/control/counters", Value::Null).await.unwrap();
    let (_, _, body) = wire.ask("GET", "/control/counters", Value::Null).await.unwrap();
    assert_eq!(json_of(&body)["total"], 0);
}

#[tokio::test]
async fn populate_touch_and_restore_over_the_control_api() {
    let served = served().await;
    let mut wire = served.plain(false).await;
    let population = json!({ "deployments": 4, "instances": 6 });
    assert_eq!(wire.ask("POST", "/control/populate", population).await.unwrap().0, 200);
    let hash = async |wire: &mut Wire| {
        let (_, _, body) = wire.ask("GET", "/control/planes/p-00000", Value::Null).await.unwrap();
        json_of(&body)["p-00000"]["hash"].clone()
    };
    let before = hash(&mut wire).await;
    wire.ask("POST", "/control/planes/p-00000/snapshot", Value::Null).await.unwrap();
    for what in ["annotation", "spec", "status"] {
        let touch = json!({ "updates": 5, "what": what });
        let (_, _, body) = wire.ask("POST", "/control/planes/p-00000/touch", touch).await.unwrap();
        assert_eq!(json_of(&body), json!({ "touched": 5 }));
    }
    assert_ne!(hash(&mut wire).await, before);
    wire.ask("POST", "/control/planes/p-00000/restore", json!({ "bumped": true })).await.unwrap();
    assert_eq!(hash(&mut wire).await, before);
    let wd = served.fleet.plane("p-00000").unwrap().list("WorkloadDeployment");
    assert_eq!(wd.len(), 2);
}

#[tokio::test]
async fn a_server_that_goes_away_cuts_everybody_off_and_comes_back_with_what_it_stores() {
    let fleet = Fleet::new(&Settings::new(2)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let identity = Identity::generate(&["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
    let serving = identity.clone();
    let of = fleet.clone();
    tokio::spawn(async move { of.serve(listener, &serving, &speak::Settings::default()).await.unwrap() });
    let served = Served { fleet, identity, address };
    let path = format!("{PROJECT}/apis/compute.datumapis.com/v1alpha/instances");
    let mut wire = served.plain(false).await;
    let mut watch = served.plain(true).await;
    let watched = watch.send("GET", &format!("{path}?watch=true"), &Value::Null).await.unwrap();
    assert_eq!(watched.status(), 200);
    let objects = served.fleet.plane("p-00001").unwrap().objects();

    let outage = json!({ "millis": 200 });
    let (code, ..) = wire.ask("POST", "/control/outage", outage).await.unwrap();
    assert_eq!(code, 200);
    // It ends in an error, or in good order: never hangs.
    let _end = watched.into_body().collect().await;
    while TcpStream::connect(address).await.is_err() {
        tokio::task::yield_now().await;
    }
    let mut wire = served.plain(false).await;
    let codes = [
        wire.ask("GET", &path, Value::Null).await.unwrap(),
        wire.ask("GET", &path, Value::Null).await.unwrap(),
    ];
    let codes = codes.map(|(code, headers, _)| (code, headers.get("retry-after").is_some()));
    assert_eq!(codes, [(429, true), (200, false)], "the first touch only");
    assert_eq!(served.fleet.plane("p-00001").unwrap().objects(), objects);
}
