//! Discovery `kubeconfigs`: which Secrets make a plane, and what the others get to hear (section 2, section
//! 6).
//!
//! The kubeconfigs name an address without a server: engaging waits for no server, so the registry shows
//! everything.

use std::sync::Arc;
use std::time::Duration;

use fedhub_cache::MemoryBudget;
use fedhub_core::clock::Clock;
use fedhub_core::fence::{Fence, Term};
use fedhub_core::names::{PLANE_NAME, PLANE_SECRET};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::discovery::kubeconfigs::Kubeconfigs;
use fedhub_planes::transport::{Transport, TransportConfig};
use fedhub_planes::{Planes, Settings};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::planes::support::*;

struct Discovering {
    management: ApiServer,
    planes: Arc<Planes>,
    stop: CancellationToken,
}

impl Discovering {
    fn start(management: ApiServer) -> Self {
        Self::over(management, Fence::open())
    }

    /// In a process that leads as `fence` says.
    fn over(management: ApiServer, fence: Fence) -> Self {
        let hub = ApiServer::hub("hub");
        let settings = Settings { fence, ..Settings::default() };
        let planes = Planes::with(client(&hub), metrics(), Clock::from_tokio(hub.clock().now()), settings);
        let transport =
            Transport::new(TransportConfig::default(), planes.metrics().clone(), MemoryBudget::unlimited());
        let discovery = Kubeconfigs::new(planes.clone(), client(&management), HOME, transport);
        let stop = CancellationToken::new();
        tokio::spawn(discovery.run(stop.clone()));
        Self { management, planes, stop }
    }

    fn names(&self) -> Vec<String> {
        self.planes.projects().iter().map(|p| p.id.to_string().replace("project ", "")).collect()
    }

    fn refused(&self) -> i64 {
        let unreachable =
            self.planes.projects().iter().filter(|p| p.health().state() == "unreachable").count();
        self.planes.states()[2].1 - i64::try_from(unreachable).unwrap()
    }

    /// The notes of all Events, with the Secret that each is about.
    fn events(&self) -> Vec<(String, String)> {
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let events = self.management.list("events.events.k8s.io");
        events.iter().map(|e| (text(&e["regarding"]["name"]), text(&e["note"]))).collect()
    }

    async fn end(self) {
        self.stop.cancel();
        self.planes.stop().await;
    }
}

fn kubeconfig(port: u16, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: c, user: u}}\n\
         clusters:\n- name: c\n  cluster: {{server: 'http://127.0.0.1:{port}'}}\nusers:\n- name: u\n  user: {{{user}}}\n"
    )
}

fn secret(name: &str, plane: Option<&str>, content: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "namespace": HOME, "name": name, "labels": {PLANE_SECRET.0: PLANE_SECRET.1},
            "annotations": plane.map(|p| json!({PLANE_NAME: p})),
        },
        "stringData": {"kubeconfig": content},
    })
}

fn good() -> String {
    kubeconfig(1, "token: t")
}

#[tokio::test(start_paused = true)]
async fn each_labelled_secret_in_the_own_namespace_is_a_plane() {
    let management = ApiServer::management("m");
    management.put(secret("one", None, &good())).unwrap();
    management.put(secret("two", Some("second"), &good())).unwrap();
    let mut elsewhere = secret("three", None, &good());
    elsewhere["metadata"]["namespace"] = json!("other");
    management.put(elsewhere).unwrap();
    let mut plain = secret("four", None, &good());
    plain["metadata"]["labels"] = Value::Null;
    management.put(plain).unwrap();
    let run = Discovering::start(management);
    quiet(5).await;
    assert_eq!(run.names(), ["one", "second"]);

    run.management.put(secret("late", None, &good())).unwrap();
    run.management.delete("Secret", HOME, "one").unwrap();
    quiet(5).await;
    assert_eq!(run.names(), ["late", "second"]);
    assert_eq!(run.refused(), 0);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_makes_no_plane_gets_an_event_once_and_disturbs_no_other() {
    let management = ApiServer::management("m");
    let exec = "exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true}";
    let broken = [
        ("exec", secret("exec", None, &kubeconfig(1, exec)), "exec is refused"),
        ("file", secret("file", None, &kubeconfig(1, "tokenFile: /etc/hostname")), "tokenFile is refused"),
        ("text", secret("text", None, "nonsense: ["), "not a kubeconfig"),
        ("name", secret("name", Some("a_b"), &good()), "holds '_' or '/'"),
        ("none", secret("none", Some(""), &good()), "empty"),
    ];
    for (_, secret, _) in &broken {
        management.put(secret.clone()).unwrap();
    }
    let mut keyless = secret("keyless", None, "");
    keyless["stringData"] = json!({"other": "x"});
    management.put(keyless).unwrap();
    management.put(secret("fine", None, &good())).unwrap();
    let run = Discovering::start(management);
    quiet(5).await;
    assert_eq!(run.names(), ["fine"]);
    assert_eq!(run.refused(), 6);
    let events = run.events();
    for (name, words) in broken.iter().map(|(n, _, w)| (*n, *w)).chain([("keyless", "no key \"kubeconfig\"")])
    {
        let notes: Vec<_> = events.iter().filter(|(about, _)| about == name).collect();
        assert!(matches!(&notes[..], [(_, note)] if note.contains(words)), "{name}: {notes:?}");
    }
    // The same again is no news.
    run.management.compact();
    run.management.break_watches();
    quiet(60).await;
    assert_eq!(run.events().len(), 6);

    run.management.put(secret("exec", None, &good())).unwrap();
    run.management.delete("Secret", HOME, "text").unwrap();
    quiet(5).await;
    assert_eq!(run.names(), ["exec", "fine"]);
    assert_eq!(run.refused(), 4);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i8_events_about_broken_secrets_hold_up_no_plane() {
    let management = ApiServer::management("m");
    for n in 0..20 {
        management.put(secret(&format!("broken-{n:02}"), None, "nonsense: [")).unwrap();
    }
    management.put(secret("fine", None, &good())).unwrap();
    management.fault(Fault::Hang.on("create", "events"));
    let run = Discovering::start(management);
    quiet(5).await;
    assert_eq!((run.names(), run.refused()), (vec!["fine".to_owned()], 20));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_leader_alone_publishes_that_a_secret_makes_no_plane_and_once() {
    let (leadership, terms) = watch::channel(None);
    let management = ApiServer::management("m");
    management.put(secret("broken", None, "nonsense: [")).unwrap();
    let run = Discovering::over(management, Fence::new(terms));
    quiet(5).await;
    assert_eq!((run.refused(), run.events()), (1, Vec::new()), "a standby");
    let now = Instant::now();
    leadership.send_replace(Some(Term { epoch: 1, until: now + Duration::from_hours(1), since: now }));
    for _ in 0..2 {
        run.planes.resync();
        quiet(5).await;
        assert_eq!(run.events().len(), 1, "its term begins");
    }
    run.management.put(secret("other", None, "nonsense: [")).unwrap();
    quiet(5).await;
    assert_eq!(run.events().len(), 2, "it leads");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn new_content_makes_a_new_client_and_the_same_content_does_not() {
    let management = ApiServer::management("m");
    management.put(secret("one", None, &good())).unwrap();
    management.put(secret("other", None, &good())).unwrap();
    let run = Discovering::start(management);
    quiet(5).await;
    let other = run.planes.project(&plane_name("other")).unwrap();
    let first = run.planes.project(&plane_name("one")).unwrap();
    run.management.patch("Secret", HOME, "one", &json!({"metadata": {"labels": {"a": "b"}}})).unwrap();
    run.management.compact();
    run.management.break_watches();
    quiet(60).await;
    assert!(Arc::ptr_eq(&first, &run.planes.project(&plane_name("one")).unwrap()));
    run.management.put(secret("one", None, &kubeconfig(2, "token: t"))).unwrap();
    quiet(5).await;
    assert!(first.stop.is_cancelled());
    assert!(!Arc::ptr_eq(&first, &run.planes.project(&plane_name("one")).unwrap()));

    run.management.put(secret("one", Some("renamed"), &good())).unwrap();
    quiet(5).await;
    assert_eq!(run.names(), ["other", "renamed"]);
    assert!(
        Arc::ptr_eq(&other, &run.planes.project(&plane_name("other")).unwrap()),
        "no other plane is touched"
    );
    assert!(!other.stop.is_cancelled());
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_working_plane_goes_on_while_its_secret_is_broken() {
    let management = ApiServer::management("m");
    management.put(secret("one", None, &good())).unwrap();
    let run = Discovering::start(management);
    quiet(5).await;
    let plane = run.planes.project(&plane_name("one")).unwrap();
    run.management.put(secret("one", None, "nonsense: [")).unwrap();
    quiet(5).await;
    assert!(!plane.stop.is_cancelled());
    assert_eq!((run.names().len(), run.refused()), (1, 1));
    // What it was before, to the letter.
    run.management.put(secret("one", None, &good())).unwrap();
    quiet(5).await;
    assert!(Arc::ptr_eq(&plane, &run.planes.project(&plane_name("one")).unwrap()));
    assert_eq!(run.refused(), 0, "it is all right again");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn of_two_secrets_with_one_name_the_later_is_refused_until_the_name_is_free() {
    let management = ApiServer::management("m");
    management.put(secret("first", Some("p"), &good())).unwrap();
    let run = Discovering::start(management);
    quiet(5).await;
    run.management.put(secret("second", Some("p"), &kubeconfig(2, "token: t"))).unwrap();
    quiet(5).await;
    assert_eq!((run.names(), run.refused()), (vec!["p".to_owned()], 1));
    let plane = run.planes.project(&plane_name("p")).unwrap();
    assert!(run.events()[0].1.contains("named by Secret first already"), "{:?}", run.events());
    run.management.delete("Secret", HOME, "second").unwrap();
    quiet(5).await;
    assert!(!plane.stop.is_cancelled(), "the refused one takes nothing with it");

    run.management.put(secret("second", Some("p"), &kubeconfig(2, "token: t"))).unwrap();
    quiet(5).await;
    run.management.delete("Secret", HOME, "first").unwrap();
    quiet(5).await;
    assert!(plane.stop.is_cancelled());
    assert_eq!((run.names(), run.refused()), (vec!["p".to_owned()], 0), "now the name is the other's");
    run.management.put(secret("third", Some("p"), &good())).unwrap();
    quiet(5).await;
    run.management.put(secret("second", Some("q"), &good())).unwrap();
    quiet(5).await;
    assert_eq!((run.names(), run.refused()), (vec!["p".to_owned(), "q".to_owned()], 0));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn planes_stay_while_the_management_plane_is_away() {
    let management = ApiServer::management("m");
    management.put(secret("one", None, &good())).unwrap();
    let run = Discovering::start(management);
    quiet(5).await;
    let plane = run.planes.project(&plane_name("one")).unwrap();
    for fault in [Fault::Status(403), Fault::Disconnect, Fault::Status(500), Fault::Garbage] {
        run.management.fault(fault);
        run.management.compact();
        run.management.break_watches();
        quiet(300).await;
        run.management.clear_faults();
    }
    assert!(!plane.stop.is_cancelled());
    run.management.put(secret("two", None, &good())).unwrap();
    until("the new Secret to be seen", || run.names().len() == 2).await;
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn secrets_that_vanish_in_a_gap_leave_nothing_behind() {
    let management = ApiServer::management("m");
    management.put(secret("fine", None, &good())).unwrap();
    management.put(secret("broken", None, "nonsense: [")).unwrap();
    let run = Discovering::start(management);
    quiet(5).await;
    assert_eq!((run.names().len(), run.refused()), (1, 1));
    run.management.fault(Fault::Hang.on("watch", "secrets"));
    run.management.delete("Secret", HOME, "fine").unwrap();
    run.management.delete("Secret", HOME, "broken").unwrap();
    run.management.compact();
    run.management.break_watches();
    run.management.clear_faults();
    until("both to be gone", || run.names().is_empty() && run.refused() == 0).await;
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i13_secrets_that_are_made_on_a_restored_management_plane_are_planes() {
    let management = ApiServer::management("m");
    management.put(secret("one", None, &good())).unwrap();
    let backup = management.snapshot();
    let run = Discovering::start(management);
    for n in 0..30 {
        run.management.put(secret("two", None, &kubeconfig(n + 1, "token: t"))).unwrap();
    }
    quiet(5).await;
    assert_eq!(run.names(), ["one", "two"]);
    let away = run.management.fault(Fault::Disconnect);
    run.management.break_watches();
    quiet(5).await;
    run.management.restore(&backup);
    run.management.clear_fault(away);
    quiet(60).await;
    assert_eq!(run.names(), ["one"], "as the Secrets are now");
    run.management.put(secret("three", None, &good())).unwrap();
    quiet(5).await;
    assert_eq!(run.names(), ["one", "three"]);
    run.end().await;
}
