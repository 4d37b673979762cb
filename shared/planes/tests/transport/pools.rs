//! Pools: HTTP/2 with a limit on streams, HTTP/1.1, dead and silent servers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use fedhub_cache::MemoryBudget;
use fedhub_core::metrics::Metrics;
use fedhub_core::names::PlaneName;
use fedhub_core::object::PlaneId;
use fedhub_planes::discovery::milo;
use fedhub_planes::transport::{OwnConnection, Transport, TransportConfig};
use futures::future::join_all;
use futures::{AsyncBufRead, AsyncBufReadExt, StreamExt};
use http::Request;
use kube::{Client, Config};

use crate::transport::server::{Server, Speaks};

fn transport() -> Transport {
    within(Duration::from_secs(2))
}

fn within(response_header_timeout: Duration) -> Transport {
    let limits = TransportConfig {
        response_header_timeout,
        request_timeout: Duration::from_secs(5),
        connect_timeout: Duration::from_secs(2),
        in_flight: 1_000,
    };
    Transport::new(limits, Metrics::new().unwrap(), MemoryBudget::unlimited())
}

fn client(transport: &Transport, server: &Server, path: &str) -> Client {
    let mut config = Config::new(format!("https://localhost:{}{path}", server.port).parse().unwrap());
    config.root_cert = Some(vec![server.ca.clone()]);
    transport.client(&config, &PlaneId::Hub).unwrap()
}

async fn watch(client: &Client) -> impl AsyncBufRead + Unpin + use<> {
    let request = Request::get("/api/v1/namespaces?watch=true").body(Vec::new()).unwrap();
    let mut body = Box::pin(client.request_stream(request).await.unwrap());
    let mut first = String::new();
    body.read_line(&mut first).await.unwrap();
    assert_eq!(first, "begun\n");
    body
}

async fn get(client: &Client) -> Result<String, kube::Error> {
    client.request_text(Request::get("/version").body(Vec::new()).unwrap()).await
}

#[tokio::test]
async fn no_watch_waits_behind_the_servers_limit_on_streams() {
    let server = Server::start(Speaks::Http2 { streams: 5 }).await;
    let transport = transport();
    // Forty planes behind one server, distinguished by their path.
    let clients: Vec<_> = (0..40).map(|n| client(&transport, &server, &format!("/projects/{n}"))).collect();
    let watches = join_all(clients.iter().map(watch)).await;
    assert_eq!(server.open.load(Ordering::SeqCst), 40);
    let connections = transport.connections();
    assert!((8..=9).contains(&connections), "40 streams, 5 on a connection: {connections} connections");
    assert_eq!(get(&clients[0]).await.unwrap(), "/projects/0/version", "a short request finds room too");

    drop(watches);
    for _ in 0..200 {
        get(&clients[1]).await.unwrap();
        if transport.connections() == 1 {
            break;
        }
    }
    assert_eq!(transport.connections(), 1, "what is not needed is closed");
}

#[tokio::test]
async fn planes_of_milo_share_the_connections_of_their_host_and_are_told_apart_by_path() {
    let server = Server::start(Speaks::Http2 { streams: 100 }).await;
    let transport = transport();
    let mut config = Config::new(format!("https://localhost:{}/of/its/own", server.port).parse().unwrap());
    config.root_cert = Some(vec![server.ca.clone()]);
    config.auth_info.token = Some("t".to_owned().into());
    // The Projects are read from there, too.
    let projects = transport.client(&config, &PlaneId::Management).unwrap();
    let connect = milo::behind(transport.server(&config).unwrap());
    let names: Vec<_> = (0..40).map(|n| PlaneName::new(&format!("p{n}")).unwrap()).collect();
    let clients: Vec<_> = names.iter().map(|name| connect(name).unwrap().client()).collect();
    let watches = join_all(clients.iter().map(watch)).await;
    assert_eq!(get(&projects).await.unwrap(), "/of/its/own/version");
    for (name, client) in names.iter().zip(&clients) {
        let path = "/apis/resourcemanager.miloapis.com/v1alpha1/projects";
        assert_eq!(get(client).await.unwrap(), format!("{path}/{name}/control-plane/version"));
    }
    assert_eq!((watches.len(), transport.connections()), (40, 1));
    assert_eq!(server.accepted.load(Ordering::SeqCst), 1, "as the server counts them");
    // Configurations that differ in their path alone meet in the same pool, however they came about.
    config.cluster_url = format!("https://localhost:{}/elsewhere", server.port).parse().unwrap();
    get(&transport.client(&config, &PlaneId::Hub).unwrap()).await.unwrap();
    assert_eq!(server.accepted.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_server_that_speaks_http1_alone_is_served_too() {
    let server = Server::start(Speaks::Http1).await;
    let transport = transport();
    let client = client(&transport, &server, "");
    let watches = futures::stream::iter(0..5).then(|_| watch(&client)).collect::<Vec<_>>().await;
    assert_eq!(get(&client).await.unwrap(), "/version");
    assert_eq!((transport.connections(), watches.len()), (0, 5), "none of them HTTP/2");
}

#[tokio::test]
async fn w6_what_must_not_stay_in_buffers_has_connections_of_its_own_that_close() {
    // Over HTTP/1.1 the watch has one connection, and the next request another that is kept for more.
    for (speaks, kept) in [(Speaks::Http2 { streams: 100 }, 1), (Speaks::Http1, 2)] {
        let server = Server::start(speaks).await;
        let transport = transport();
        let client = client(&transport, &server, "");
        let _watch = watch(&client).await;
        get(&client).await.unwrap();
        for _ in 0..2 {
            let accepted = server.accepted.load(Ordering::SeqCst);
            let mut request = Request::get("/version").body(kube::client::Body::empty()).unwrap();
            request.extensions_mut().insert(OwnConnection);
            drop(client.send(request).await.unwrap());
            assert!(server.accepted.load(Ordering::SeqCst) > accepted, "it has one of its own");
            // What else is asked meanwhile does not go there, nor keeps it open.
            assert_eq!(get(&client).await.unwrap(), "/version");
            let closed = async {
                while server.live.load(Ordering::SeqCst) != kept {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(10), closed).await.expect("to be closed");
        }
        assert!(transport.connections() <= 1);
    }
}

#[tokio::test]
async fn a_connection_that_ended_is_replaced() {
    let server = Server::start(Speaks::Http2 { streams: 100 }).await;
    let transport = transport();
    let client = client(&transport, &server, "");
    get(&client).await.unwrap();
    server.hang_up();
    // The client may learn of the end by the failure of the request that it is sending; the next must
    // succeed.
    let answers = [get(&client).await, get(&client).await];
    assert!(answers[1].is_ok(), "{answers:?}");
}

/// As the watch of the Lease is while the Lease itself is written.
#[tokio::test]
async fn who_dialled_and_is_not_looked_at_any_more_holds_nobody_up() {
    let server = Server::start(Speaks::Http2 { streams: 100 }).await;
    let transport = transport();
    let client = client(&transport, &server, "");
    let mut first = Box::pin(get(&client));
    while server.accepted.load(Ordering::SeqCst) == 0 {
        assert!(futures::poll!(&mut first).is_pending());
        tokio::task::yield_now().await;
    }
    assert_eq!(get(&client).await.unwrap(), "/version");
    assert_eq!(first.await.unwrap(), "/version");
    assert_eq!(server.accepted.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn those_who_wait_for_a_dial_fail_with_it() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    // Accepts and never says a word, so that TLS never begins.
    let silent = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    let transport = transport();
    let config = Config::new(format!("https://localhost:{port}").parse().unwrap());
    let client = transport.client(&config, &PlaneId::Hub).unwrap();
    let start = std::time::Instant::now();
    let answers = join_all((0..20).map(|_| get(&client))).await;
    assert!(answers.iter().all(Result::is_err));
    assert!(start.elapsed() < Duration::from_secs(30), "one time-out for all, not one after another");
    silent.abort();
}

/// How long a request may take where it is to time out.
const SHORT: Duration = Duration::from_secs(1);

#[tokio::test]
async fn i8_requests_leave_a_connection_that_hangs_for_one_that_answers() {
    let server = Server::start(Speaks::Http2 { streams: 100 }).await;
    let transport = within(SHORT);
    let client = client(&transport, &server, "");
    let mut watch = watch(&client).await;
    server.hang();
    assert!(get(&client).await.is_err(), "its answer never comes");
    assert_eq!(get(&client).await.unwrap(), "/version", "the next one is not glued to that connection");
    assert_eq!(server.accepted.load(Ordering::SeqCst), 2);
    // What is open there ends as well, and would find the other connection.
    let mut rest = String::new();
    let ends = watch.read_line(&mut rest);
    let answers = async {
        loop {
            get(&client).await.unwrap();
        }
    };
    let ended = tokio::select! {
        ended = ends => ended,
        () = answers => unreachable!(),
        () = tokio::time::sleep(Duration::from_mins(1)) => panic!("the watch goes on on a connection that hangs"),
    };
    assert!(!matches!(ended, Ok(n) if n > 0), "{ended:?}");
    assert_eq!((transport.connections(), server.accepted.load(Ordering::SeqCst)), (1, 2));
}

#[tokio::test]
async fn i8_a_plane_that_hangs_costs_the_others_behind_its_server_no_connection() {
    let server = Server::start(Speaks::Http2 { streams: 100 }).await;
    let transport = within(SHORT);
    let fine = client(&transport, &server, "");
    let hangs = client(&transport, &server, "/hangs");
    let watch = watch(&fine).await;
    for _ in 0..3 {
        let never = hangs.request_text(Request::get("/never").body(Vec::new()).unwrap());
        let mut never = Box::pin(never);
        loop {
            // Answers come meanwhile, so that it is not the connection.
            tokio::select! {
                biased;
                failed = &mut never => break assert!(failed.is_err()),
                answer = get(&fine) => assert!(answer.is_ok()),
            }
        }
    }
    assert_eq!((server.accepted.load(Ordering::SeqCst), transport.connections()), (1, 1));
    drop(watch);
}

#[tokio::test]
async fn i8_a_server_that_hangs_is_not_dialled_for_each_request() {
    let server = Server::start(Speaks::Http2 { streams: 100 }).await;
    let transport = within(SHORT);
    let client = client(&transport, &server, "");
    let _watch = watch(&client).await;
    for _ in 0..3 {
        let never = (0..20).map(|_| client.request_text(Request::get("/never").body(Vec::new()).unwrap()));
        assert!(join_all(never).await.iter().all(Result::is_err));
    }
    assert!(server.accepted.load(Ordering::SeqCst) <= 4, "{:?}", server.accepted);
    assert_eq!(get(&client).await.unwrap(), "/version", "it goes on with what it has");
}
