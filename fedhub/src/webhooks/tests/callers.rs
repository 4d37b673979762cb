//! Who may ask about a plane (I6): its own API server, by its certificate. Whoever shows none learns nothing
//! of planes.

use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::task::TaskTracker;

use super::bounds::{Server, whole};
use super::*;
use crate::secure::tests::authority::{Authority, authority, client, signed, signed_as};

impl World {
    /// The answer to a caller with that certificate, or without one: its code and body.
    async fn answer(
        &self,
        certificate: Option<CertificateDer<'static>>,
        path: &str,
        review: &Value,
    ) -> (u16, String) {
        let route = Route::from_path(path, self.webhooks.discovery).unwrap();
        let caller = Caller { address: [10, 0, 0, 7].into(), certificate };
        let answer = self.webhooks.respond(&caller, &route, Body::from(review.to_string())).await;
        let code = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    fn counted_foreign(&self) -> u64 {
        let of = ["validate", "Workload", "unknown", "foreign"];
        self.webhooks.metrics.admission_requests.with_label_values(&of).get()
    }
}

#[tokio::test(start_paused = true)]
async fn i6_the_api_server_of_one_plane_asks_about_no_other() {
    let world = world(Discovery::Kubeconfigs).await;
    let asked = review("Workload", user("net"), None, &workload());
    for (uris, code) in [
        (&["fedhub://planes/project-a"][..], 200),
        (&["fedhub://planes/project-b"], 403),
        (&["fedhub://root"], 403),
        (&[], 403),
    ] {
        let (got, body) = world.answer(Some(certificate(uris)), VALIDATE, &asked).await;
        assert_eq!(got, code, "{uris:?}: {body}");
        if code == 403 {
            assert!(body.contains("it needs the URI fedhub://planes/project-a"), "{body}");
        }
    }
    assert_eq!((world.plane.asked.lock().len(), world.counted_foreign()), (1, 3));
    // The answer is the same where there is no such plane.
    let other = VALIDATE.replace("project-a", "project-c");
    let (code, body) = world.answer(Some(certificate(&["fedhub://planes/project-b"])), &other, &asked).await;
    assert_eq!(code, 403);
    assert!(body.contains("fedhub://planes/project-c"), "{body}");
    // The catalogue of types may be on no project plane, so that no plane is asked about it.
    let types = "/validate-compute-datumapis-com-v1alpha-instancetype";
    let asked = review("InstanceType", user("net"), None, &json!({"metadata": {"name": "t"}, "spec": {}}));
    assert_eq!(world.answer(Some(certificate(&[])), types, &asked).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn i6_the_servers_of_a_milo_and_of_a_single_plane_show_who_they_are() {
    let bare = "/validate-compute-datumapis-com-v1alpha-workload";
    for (discovery, own) in
        [(Discovery::Milo, "fedhub://root"), (Discovery::Single, "fedhub://planes/single")]
    {
        let world = world(discovery).await;
        let asked = review("Workload", user("net"), None, &workload());
        assert_eq!(world.answer(Some(certificate(&[own])), bare, &asked).await.0, 200, "{own}");
        for other in ["fedhub://planes/project-a", "fedhub://rooted"] {
            assert_eq!(world.answer(Some(certificate(&[other])), bare, &asked).await.0, 403, "{other}");
        }
    }
}

/// Whoever reaches the server may ask, and learns neither which planes there are nor how they are.
#[tokio::test(start_paused = true)]
async fn i6_without_a_certificate_a_plane_that_denies_and_one_that_is_not_there_answer_alike() {
    let world = world(Discovery::Kubeconfigs).await;
    let unknown = VALIDATE.replace("project-a", "project-c");
    let mut broken = workload();
    broken["spec"]["placements"][0]["cityCodes"] = json!([]);
    let path = |path: &str, kind: &str| path.replace("-workload", &format!("-{}", kind.to_lowercase()));
    let wd = |value: &str| {
        let annotations = json!({EXPECTED_REFERENCED_DATA: value});
        json!({"metadata": {"name": "web", "namespace": "shop", "annotations": annotations}})
    };
    for (kind, old, new) in [
        ("Workload", None, workload()),
        ("Workload", None, broken),
        ("WorkloadDeployment", Some(wd("[]")), wd("[\"Secret/db\"]")),
    ] {
        let asked = review(kind, user("other"), old.as_ref(), &new);
        let denied = world.answer(None, &path(VALIDATE, kind), &asked).await;
        assert!(
            denied.1.contains("422") && denied.1.contains("answers so too where it cannot ask"),
            "{denied:?}"
        );
        assert_eq!(world.answer(None, &path(&unknown, kind), &asked).await, denied, "no such plane");
        tokio::time::advance(Duration::from_secs(10)).await;
        for trouble in [&world.plane.fails, &world.plane.hangs] {
            trouble.store(true, Ordering::SeqCst);
            assert_eq!(world.answer(None, &path(VALIDATE, kind), &asked).await, denied, "a plane in trouble");
            trouble.store(false, Ordering::SeqCst);
        }
    }
    // Operators see the difference.
    assert_eq!(world.counted("create", "unanswered"), 4, "two Workloads, two troubles");
    assert_eq!(world.counted("create", "refused"), 4, "denied, and of no plane");
    // What needs no plane is the same everywhere, and what a plane allows is allowed.
    let asked = review("Workload", user("net"), None, &workload());
    let (code, body) = world.answer(None, VALIDATE, &asked).await;
    assert!(code == 200 && body.contains("\"allowed\":true"), "{body}");
}

/// A server over TLS with that CA of clients, and what it answers to whoever shows that.
async fn asked(
    clients: &Authority,
    trust_network: bool,
    shows: Option<(String, String)>,
) -> std::io::Result<String> {
    let Server { world, https, ca, never } = Server::new(Some(clients), trust_network).await;
    let tasks = TaskTracker::new();
    let any = "127.0.0.1:0".parse().unwrap();
    let at = https.serve(any, Duration::from_mins(1), never.clone(), &tasks).await.unwrap();
    let tls = client(&ca.pem(), shows);
    let name = ServerName::try_from("localhost").unwrap();
    let ask = async {
        let stream = tokio::net::TcpStream::connect(at).await?;
        let mut stream = tls.connect(name, stream).await?;
        stream.write_all(&whole()).await?;
        let mut said = vec![0; 12];
        stream.read_exact(&mut said).await?;
        Ok(String::from_utf8(said).unwrap())
    };
    let said = ask.await;
    never.cancel();
    world.planes.stop().await;
    said
}

#[tokio::test]
async fn i6_a_certificate_is_asked_for_and_bound_where_it_is_shown() {
    let clients = authority();
    let others = authority();
    let own = || Some(signed_as(&clients, &["fedhub://planes/project-a"]));
    assert_eq!(asked(&clients, false, own()).await.unwrap(), "HTTP/1.1 200");
    assert_eq!(asked(&clients, false, Some(signed(&clients))).await.unwrap(), "HTTP/1.1 403");
    asked(&clients, false, Some(signed_as(&others, &["fedhub://planes/project-a"]))).await.unwrap_err();
    asked(&clients, false, None).await.unwrap_err();
    // While API servers are given their certificates one by one.
    assert_eq!(asked(&clients, true, None).await.unwrap(), "HTTP/1.1 200");
    assert_eq!(asked(&clients, true, own()).await.unwrap(), "HTTP/1.1 200");
    assert_eq!(asked(&clients, true, Some(signed(&clients))).await.unwrap(), "HTTP/1.1 403");
}
