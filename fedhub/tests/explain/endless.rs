//! Project planes whose servers send without an end: each is a line of the answer, and the others are
//! answered (I8).

use std::process::Command;
use std::time::{Duration, Instant};

use fedhub_fake_apiserver::{AnswerBody, ApiServer};
use futures::stream;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use serde_json::{Value, json};
use tower::{BoxError, ServiceExt, service_fn};

use super::objects::SPACE;
use super::planes::Planes;

/// What a server answers to a list.
#[derive(Clone, Copy, Debug)]
enum Trick {
    /// Pages without an end, each of which names itself as the next one.
    SamePage,
    /// Pages without an end, with names that differ and an object on each.
    Pages,
    /// White space for ever.
    Endless,
    /// Maps of one short field for ever, in one object.
    Maps,
    /// Pages without an end, each almost as late as it may be.
    Slow,
}

const TRICKS: [Trick; 5] = [Trick::SamePage, Trick::Pages, Trick::Endless, Trick::Maps, Trick::Slow];

impl Trick {
    fn plane(self) -> String {
        format!("hostile-{}", format!("{self:?}").to_lowercase())
    }

    /// Whether it is played to whoever asks this. Most commands list; `check` asks for the version.
    fn is_played_to(self, request: &Request<Incoming>) -> bool {
        let is_list = request.uri().query().is_some_and(|query| query.contains("limit="));
        let has_no_end = matches!(self, Self::Endless | Self::Maps);
        is_list || (has_no_end && request.uri().path() == "/version")
    }
}

/// How long each command may take, beside a build that runs.
const PATIENCE: Duration = Duration::from_mins(1);
/// How much memory it may take, in KiB.
const MEMORY: u64 = 400 << 10;
/// The exit code of every command that has read what it needs, and found that a plane has a problem.
const PROBLEM: i32 = 3;

fn streamed(first: String, unit: &'static str, times: Option<usize>) -> AnswerBody {
    let mut left = times;
    let rest = std::iter::from_fn(move || {
        if let Some(left) = &mut left {
            *left = left.checked_sub(1)?;
        }
        Some(Bytes::from(unit.repeat(1000)))
    });
    let parts = std::iter::once(Bytes::from(first)).chain(rest);
    StreamBody::new(stream::iter(parts.map(|part| Ok(Frame::data(part))))).boxed_unsync()
}

fn page(at: usize, trick: Trick) -> AnswerBody {
    let item = json!({"metadata": {"name": format!("o{at}"), "namespace": "n", "uid": format!("u{at}")}});
    let (token, items) = match trick {
        Trick::SamePage => ("again".to_owned(), json!([])),
        _ => (format!("page-{at}"), json!([item])),
    };
    let page = json!({"kind": "List", "apiVersion": "v1", "metadata": {"continue": token}, "items": items});
    streamed(page.to_string(), "", Some(0))
}

impl Planes {
    /// Adds a project plane that plays this trick, and is as it should be otherwise.
    async fn put_hostile(&self, trick: Trick) {
        let name = trick.plane();
        let server = ApiServer::project_plane(&name);
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
        let wd = json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
            "metadata": {"name": "web", "namespace": "shop"}, "spec": {"cityCode": "DFW"},
        });
        for object in [namespace, wd] {
            server.put(object).unwrap();
        }
        let pages = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let service = service_fn(move |request: Request<Incoming>| {
            let server = server.clone();
            let pages = pages.clone();
            async move {
                if !trick.is_played_to(&request) {
                    return server.service().oneshot(request).await;
                }
                let at = pages.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let open = || "{\"kind\":\"List\",\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"a\"},\"spec\":[";
                let body = match trick {
                    Trick::SamePage | Trick::Pages => page(at, trick),
                    Trick::Endless => streamed(open().to_owned(), "        ", None),
                    Trick::Maps => streamed(open().to_owned(), "{\"a\":1},", None),
                    Trick::Slow => {
                        tokio::time::sleep(Duration::from_millis(700)).await;
                        page(at, Trick::Pages)
                    }
                };
                let mut answer = Response::new(body);
                *answer.status_mut() = StatusCode::OK;
                Ok::<_, BoxError>(answer)
            }
        });
        let content = self.serve_by(&name, service).await;
        self.put_secret(&name, None, &content.to_string());
    }

    /// A command, and the most memory that it took, in KiB.
    async fn measured(&self, flags: &[String]) -> (i32, String, u64) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedhub"));
        command.args(flags).env_clear().stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let ran = tokio::task::spawn_blocking(move || {
            let child = command.spawn().unwrap();
            let status = format!("/proc/{}/status", child.id());
            let watched = std::thread::spawn(move || {
                let mut most = 0;
                while let Ok(text) = std::fs::read_to_string(&status) {
                    let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                    let Some(peak) = peak else { break };
                    most = most.max(peak.trim().trim_end_matches(" kB").parse().unwrap());
                    std::thread::sleep(Duration::from_millis(20));
                }
                most
            });
            let output = child.wait_with_output().unwrap();
            (output, watched.join().unwrap())
        });
        let (output, most) = ran.await.unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        (output.status.code().unwrap(), text, most)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_u4_a_plane_that_sends_without_an_end_is_a_line_of_the_answer_and_the_others_are_answered() {
    let planes = Planes::in_sync().await;
    // A finding, so that an audit that reads the others ends with the code for that.
    assert!(planes.hub.delete("PropagationPolicy", SPACE, "city-dfw").unwrap());
    for trick in TRICKS {
        planes.put_hostile(trick).await;
    }
    let all = TRICKS.map(Trick::plane).to_vec();
    let without_version = [Trick::Endless, Trick::Maps].map(Trick::plane).to_vec();
    let mut commands = vec![
        ("planes MANAGEMENT --max-objects=1000 -o wide".to_owned(), all.clone()),
        ("audit MANAGEMENT HUB".to_owned(), all.clone()),
        ("snapshot MANAGEMENT HUB FILE".to_owned(), all.clone()),
        ("uninstall --plan MANAGEMENT HUB".to_owned(), all.clone()),
        (
            "check --enable-management-controllers --discovery=kubeconfigs MANAGEMENT HUB".to_owned(),
            without_version,
        ),
    ];
    commands.extend(all.iter().map(|plane| {
        (format!("explain wd web -n shop --plane {plane} MANAGEMENT HUB"), vec![plane.clone()])
    }));
    let mut faults = Vec::new();
    let ran = commands.into_iter().map(|(line, named)| run(&planes, line, named));
    let ran = futures::future::join_all(ran).await;
    for Ran { line, named, code, text, memory, took } in &ran {
        if *took > PATIENCE || *memory > MEMORY || *code != PROBLEM {
            faults.push(format!("{line}: exit {code} after {took:?}, {memory} KiB\n{text}"));
        }
        for name in named {
            if !text.contains(name) {
                faults.push(format!("{line}: nothing is said of {name}\n{text}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let written: Value = serde_json::from_slice(&std::fs::read(planes.file("snapshot")).unwrap()).unwrap();
    let read =
        &written["projects"]["project-a"]["resources"]["compute.datumapis.com/v1alpha/workloaddeployments"];
    assert_eq!(read["objects"][0]["metadata"]["name"], "web", "{read}");
    let text = &ran[0].text;
    for said in ["a page names itself as the next one", "it has more than 1000 objects", "plane-too-large"] {
        assert!(text.contains(said), "{said}\n{text}");
    }
}

struct Ran {
    line: String,
    /// The planes that its answer has to name.
    named: Vec<String>,
    code: i32,
    text: String,
    memory: u64,
    took: Duration,
}

/// Runs a command, in whose line capitals stand for flags.
async fn run(planes: &Planes, line: String, named: Vec<String>) -> Ran {
    let flags = line.split(' ').map(|word| match word {
        "MANAGEMENT" => format!("--management-kubeconfig={}", planes.file("management").display()),
        "HUB" => format!("--hub-kubeconfig={}", planes.file("hub").display()),
        "FILE" => format!("--file={}", planes.file("snapshot").display()),
        word => word.to_owned(),
    });
    let flags: Vec<String> = flags.chain(["--timeout=1s".to_owned()]).collect();
    let began = Instant::now();
    let (code, text, memory) = planes.measured(&flags).await;
    Ran { line, named, code, text, memory, took: began.elapsed() }
}
