//! Credentials that change on disk while clients use them, and kubeconfigs that say how a server is to be
//! trusted.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fedhub_cache::MemoryBudget;
use fedhub_core::metrics::Metrics;
use fedhub_core::names::PlaneName;
use fedhub_core::object::PlaneId;
use fedhub_planes::discovery::credentials::{Source, from_secret};
use fedhub_planes::discovery::milo;
use fedhub_planes::discovery::reload::Followed;
use fedhub_planes::transport::{self, Transport, TransportConfig};
use futures::{AsyncBufReadExt, io::BufReader};
use http::Request;
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::transport::server::{Identity, Server, Speaks};

const INTERVAL: Duration = Duration::from_millis(20);

/// A directory as a Secret is mounted: its files are links through one that is swapped.
struct Mounted {
    dir: tempfile::TempDir,
    version: u32,
}

impl Mounted {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), version: 0 }
    }

    /// All files at once, as kubelet does it.
    fn swap(&mut self, files: &[(&str, &str)]) {
        self.version += 1;
        let version = format!("..{}", self.version);
        std::fs::create_dir(self.dir.path().join(&version)).unwrap();
        for (name, content) in files {
            std::fs::write(self.dir.path().join(&version).join(name), content).unwrap();
            let link = self.dir.path().join(name);
            if !link.exists() {
                let _ = std::fs::remove_file(&link);
                std::os::unix::fs::symlink(Path::new("..data").join(name), link).unwrap();
            }
        }
        std::os::unix::fs::symlink(&version, self.dir.path().join("..next")).unwrap();
        std::fs::rename(self.dir.path().join("..next"), self.dir.path().join("..data")).unwrap();
    }

    fn source(&self) -> Source {
        Source::file(&self.dir.path().join("kubeconfig"), None)
    }
}

fn kubeconfig(port: u16, cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: c, user: u}}\n\
         clusters:\n- name: c\n  cluster: {{server: 'https://localhost:{port}'{cluster}}}\nusers:\n- name: u\n  user: {{{user}}}\n"
    )
}

const CA: &str = ", certificate-authority: ca.crt";
const USER: &str = "tokenFile: token, client-certificate: tls.crt, client-key: tls.key";

/// A client that follows credentials, and what it reported.
struct Run {
    server: transport::Server,
    transport: Transport,
    metrics: Metrics,
    stop: CancellationToken,
}

impl Run {
    fn start(source: Source) -> Self {
        let metrics = Metrics::new().unwrap();
        let transport =
            Transport::new(TransportConfig::default(), metrics.clone(), MemoryBudget::unlimited());
        let loaded = source.read().unwrap();
        let server = transport.server(&loaded.config).unwrap();
        let stop = CancellationToken::new();
        let followed = Followed::new("hub", source, &loaded, &server);
        tokio::spawn(followed.run(INTERVAL, metrics.clone(), stop.clone()));
        Self { server, transport, metrics, stop }
    }

    fn stale(&self) -> i64 {
        self.metrics.credentials_stale.with_label_values(&["hub"]).get()
    }

    fn reloads(&self) -> u64 {
        self.metrics.credentials_reloads.with_label_values(&["hub"]).get()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn text(client: &Client, path: &str) -> Result<String, kube::Error> {
    client.request_text(Request::get(path).body(Vec::new()).unwrap()).await
}

async fn whoami(client: &Client) -> String {
    text(client, "/whoami").await.unwrap()
}

/// Asks until the answer is so.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..1_000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("never: {what}");
}

fn certificate_of(answer: &str) -> Option<&str> {
    answer.split_once(" [").map(|(_, der)| der)
}

#[tokio::test]
async fn new_credentials_go_with_new_requests_and_what_is_under_way_ends_as_it_began() {
    let server = Server::start(Speaks::Http2 { streams: 100 }).await;
    let own = Identity::new("localhost");
    let first = Identity::new("first");
    let second = Identity::new("second");
    server.present(&own, &[&first, &second]);
    let mut mounted = Mounted::new();
    let config = kubeconfig(server.port, CA, USER);
    let files = |token: &'static str, client: &Identity| {
        [token.to_owned(), client.certificate_pem(), client.key_pem(), own.certificate_pem(), config.clone()]
    };
    let mut put = |[token, certificate, key, ca, config]: [String; 5]| {
        mounted.swap(&[
            ("token", &token),
            ("tls.crt", &certificate),
            ("tls.key", &key),
            ("ca.crt", &ca),
            ("kubeconfig", &config),
        ]);
        mounted.source()
    };
    let run = Run::start(put(files("one\n", &first)));
    let client = run.server.client(&PlaneId::Hub);
    // Another plane behind the same server, as discovery `milo` makes them.
    let plane = milo::behind(run.server.clone())(&PlaneName::new("p").unwrap()).unwrap().client();
    let before = whoami(&client).await;
    assert!(before.starts_with("Bearer one ["), "{before}");
    let request = Request::get("/api/v1/namespaces?watch=true").body(Vec::new()).unwrap();
    let mut watch = BufReader::new(Box::pin(client.request_stream(request).await.unwrap()));
    let mut line = String::new();
    watch.read_line(&mut line).await.unwrap();
    assert_eq!((line.as_str(), server.accepted.load(Ordering::SeqCst)), ("begun\n", 1));

    // A token travels with each request: the connection stays.
    put(files("two\n", &first));
    until("the new token", async || whoami(&client).await.starts_with("Bearer two [")).await;
    assert!(whoami(&plane).await.starts_with("Bearer two ["), "all planes of the server");
    assert_eq!(server.accepted.load(Ordering::SeqCst), 1);

    // A certificate belongs to its connection: there is another, and the watch ends in its own time.
    put(files("two", &second));
    until("the new certificate", async || certificate_of(&whoami(&client).await) != certificate_of(&before))
        .await;
    assert_eq!(certificate_of(&whoami(&plane).await), certificate_of(&whoami(&client).await));
    assert_eq!(server.open.load(Ordering::SeqCst), 1, "the watch goes on");
    assert_eq!((server.accepted.load(Ordering::SeqCst), server.live.load(Ordering::SeqCst)), (2, 2));
    drop(watch);
    until("the old connection to go", async || server.live.load(Ordering::SeqCst) == 1).await;
    assert_eq!((run.transport.connections(), run.reloads(), run.stale()), (1, 2, 0));
}

#[tokio::test]
async fn a_new_authority_is_trusted_without_a_restart() {
    let server = Server::start(Speaks::Http2 { streams: 100 }).await;
    let old = Identity::new("localhost");
    let new = Identity::new("localhost");
    server.present(&old, &[]);
    let mut mounted = Mounted::new();
    let config = kubeconfig(server.port, CA, "token: t");
    mounted.swap(&[("ca.crt", &old.certificate_pem()), ("kubeconfig", &config)]);
    let run = Run::start(mounted.source());
    let client = run.server.client(&PlaneId::Hub);
    assert_eq!(whoami(&client).await, "Bearer t");
    server.present(&new, &[]);
    server.hang_up();
    until("the new certificate to be refused", async || text(&client, "/version").await.is_err()).await;
    mounted.swap(&[("ca.crt", &new.certificate_pem()), ("kubeconfig", &config)]);
    until("the new authority", async || text(&client, "/version").await.is_ok()).await;
    assert_eq!(run.reloads(), 1);
}

#[tokio::test]
async fn what_cannot_be_used_changes_nothing_and_is_tried_again() {
    let server = Server::start(Speaks::Http2 { streams: 100 }).await;
    let own = Identity::new("localhost");
    let first = Identity::new("first");
    let second = Identity::new("second");
    server.present(&own, &[&first, &second]);
    let mut mounted = Mounted::new();
    let config = kubeconfig(server.port, CA, USER);
    let good = [
        ("token", "one".to_owned()),
        ("tls.crt", first.certificate_pem()),
        ("tls.key", first.key_pem()),
        ("ca.crt", own.certificate_pem()),
        ("kubeconfig", config.clone()),
    ];
    let mut put = |changed: &[(&'static str, &str)]| {
        let of = |name: &str| changed.iter().find(|(n, _)| *n == name).map(|(_, content)| *content);
        let files: Vec<_> = good.iter().map(|(n, content)| (*n, of(n).unwrap_or(content))).collect();
        mounted.swap(&files);
        mounted.source()
    };
    let run = Run::start(put(&[]));
    let client = run.server.client(&PlaneId::Hub);
    let (half, _) = config.split_once("users:").unwrap();
    let certificate = second.certificate_pem();
    for broken in [
        ("kubeconfig", half),
        ("kubeconfig", "nonsense: ["),
        ("kubeconfig", ""),
        ("token", "\n"),
        ("ca.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n"),
        // A new certificate beside the old key, as between two writes.
        ("tls.crt", &certificate),
        ("tls.key", "no key"),
    ] {
        put(&[broken]);
        until(&format!("the trouble with {broken:?} to be noticed"), async || run.stale() == 1).await;
        let me = whoami(&client).await;
        assert!(me.starts_with("Bearer one ["), "{broken:?}: {me}");
        put(&[]);
        until("it to be right again", async || run.stale() == 0).await;
    }
    assert_eq!((run.reloads(), server.accepted.load(Ordering::SeqCst)), (0, 1), "nothing was replaced");
    put(&[("token", "two")]);
    until("the new token", async || whoami(&client).await.starts_with("Bearer two [")).await;
}

#[tokio::test]
async fn a_server_that_moved_is_followed() {
    let from = Server::start(Speaks::Http1).await;
    let to = Server::start(Speaks::Http1).await;
    let mut mounted = Mounted::new();
    let config = |port| kubeconfig(port, ", insecure-skip-tls-verify: true", "token: t");
    mounted.swap(&[("kubeconfig", &config(from.port))]);
    let run = Run::start(mounted.source());
    let client = run.server.client(&PlaneId::Hub);
    whoami(&client).await;
    assert_eq!(to.accepted.load(Ordering::SeqCst), 0);
    mounted.swap(&[("kubeconfig", &config(to.port))]);
    until("a request there", async || {
        whoami(&client).await;
        to.accepted.load(Ordering::SeqCst) > 0
    })
    .await;
}

#[tokio::test]
async fn a_kubeconfig_says_which_name_the_server_has_and_whether_to_look() {
    let server = Server::start(Speaks::Http2 { streams: 100 }).await;
    let own = Identity::new("kubernetes");
    server.present(&own, &[]);
    let mut mounted = Mounted::new();
    let asked = async |cluster: &str| {
        mounted.swap(&[
            ("ca.crt", &own.certificate_pem()),
            ("kubeconfig", &kubeconfig(server.port, cluster, "token: t")),
        ]);
        let run = Run::start(mounted.source());
        text(&run.server.client(&PlaneId::Hub), "/version").await
    };
    let mut asked = asked;
    let error = fedhub_core::errors::chain(&asked(CA).await.unwrap_err());
    assert!(error.contains("not valid for name \"localhost\""), "{error}");
    asked(", certificate-authority: ca.crt, tls-server-name: kubernetes").await.unwrap();
    asked(", insecure-skip-tls-verify: true").await.unwrap();
    asked("").await.unwrap_err();
    let secret =
        kubeconfig(server.port, ", tls-server-name: kubernetes, insecure-skip-tls-verify: true", "token: t");
    let transport =
        Transport::new(TransportConfig::default(), Metrics::new().unwrap(), MemoryBudget::unlimited());
    let client = transport.client(&from_secret(&secret).unwrap(), &PlaneId::Hub).unwrap();
    assert_eq!(whoami(&client).await, "Bearer t");
}
