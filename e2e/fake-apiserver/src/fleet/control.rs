//! The control API of a fleet, below `/control`: JSON in, JSON out, for benchmarks and tests. See the crate's
//! README for its paths.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Fleet, HUB, MANAGEMENT, Outage, Population};
use crate::answer::Refusal;
use crate::audit::RequestKind;
use crate::faults::{Fault, FaultRule};
use crate::server::ApiServer;

/// Every project plane at once, where a plane's name is asked for.
const ALL: &str = "*";

/// Answers a request: its path and query below `/control`.
pub(super) async fn answer(
    fleet: &Fleet,
    method: &Method,
    path_and_query: &str,
    body: &[u8],
) -> Result<Value, Refusal> {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let query: BTreeMap<String, String> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    match (method.as_str(), segments.as_slice()) {
        ("GET", []) => Ok(summary(fleet)),
        ("POST", ["populate"]) => {
            let fleet = fleet.clone();
            let population = read::<Population>(body)?;
            // It takes seconds, in which the others' requests are to be answered.
            let filled = tokio::task::spawn_blocking(move || fleet.populate(&population)).await;
            filled.map_err(|error| Refusal::internal(error.to_string()))??;
            Ok(json!({}))
        }
        ("GET", ["outage"]) => Ok(fleet.outages().state()),
        ("POST", ["outage"]) => {
            fleet.outages().order(read::<Outage>(body)?);
            Ok(json!({}))
        }
        ("GET", ["counters"]) => counters(fleet, query.get("plane").map(String::as_str)),
        ("DELETE", ["counters"]) => {
            fleet.planes().for_each(ApiServer::clear_counts);
            fleet.census().reset();
            Ok(json!({}))
        }
        (method, ["planes", plane, rest @ ..]) => of_planes(fleet, method, plane, rest, body).await,
        _ => Err(Refusal::no_such_path()),
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    let body = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| Refusal::bad_request(error.to_string()))
}

fn summary(fleet: &Fleet) -> Value {
    let objects: usize = fleet.planes().map(ApiServer::objects).sum();
    json!({ "planes": fleet.projects().len(), "cities": fleet.inner.cities, "objects": objects })
}

/// Requests by verb, resource and code: of one plane, or of the hub, the management plane and all project
/// planes together.
fn counters(fleet: &Fleet, plane: Option<&str>) -> Result<Value, Refusal> {
    let mut all: BTreeMap<(&str, RequestKind), u64> = BTreeMap::new();
    for server in chosen(fleet, plane.unwrap_or(ALL))? {
        let of = if plane.is_some() { server.name() } else { "projects" };
        server.counts().into_iter().for_each(|(kind, count)| *all.entry((of, kind)).or_default() += count);
    }
    if plane.is_none() {
        for server in [fleet.hub(), fleet.management()] {
            all.extend(server.counts().into_iter().map(|(kind, count)| ((server.name(), kind), count)));
        }
    }
    let writes: u64 = all.iter().filter(|((_, kind), _)| kind.is_write()).map(|(_, count)| count).sum();
    let total: u64 = all.values().sum();
    let requests: Vec<Value> = all
        .iter()
        .map(|((of, kind), count)| {
            json!({
                "plane": of, "verb": kind.verb, "resource": kind.resource, "dry_run": kind.dry_run,
                "code": kind.code, "count": count,
            })
        })
        .collect();
    Ok(json!({ "open": fleet.census().count(), "total": total, "writes": writes, "requests": requests }))
}

fn chosen<'a>(fleet: &'a Fleet, plane: &str) -> Result<Vec<&'a ApiServer>, Refusal> {
    if plane == ALL {
        return Ok(fleet.projects().values().collect());
    }
    let known = fleet.plane(plane);
    known.map(|server| vec![server]).ok_or_else(|| {
        Refusal::bad_request(format!(
            "no plane {plane:?}: there are {HUB:?}, {MANAGEMENT:?}, {ALL:?} and the projects"
        ))
    })
}

async fn of_planes(
    fleet: &Fleet,
    method: &str,
    plane: &str,
    rest: &[&str],
    body: &[u8],
) -> Result<Value, Refusal> {
    let servers = chosen(fleet, plane)?;
    match (method, rest) {
        ("GET", []) => Ok(servers.iter().map(|s| (s.name(), state(s))).collect()),
        ("POST", ["faults"]) => {
            let rule = read::<FaultRequest>(body)?.rule()?;
            for server in servers {
                server.fault(rule.clone());
            }
            Ok(json!({}))
        }
        ("POST", ["touch"]) => {
            let wanted: Touch = read(body)?;
            let mut touched = 0;
            for server in servers {
                touched += touch(server, &wanted).await?;
            }
            Ok(json!({ "touched": touched }))
        }
        (_, [action]) => {
            servers.into_iter().try_for_each(|server| act(fleet, server, method, action, body))?;
            Ok(json!({}))
        }
        _ => Err(Refusal::no_such_path()),
    }
}

fn state(server: &ApiServer) -> Value {
    json!({
        "revision": server.revision(), "objects": server.objects(),
        "hash": format!("{:016x}", server.objects_hash()),
    })
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Restore {
    /// Whether the resourceVersions go on, as `--bump-revision --mark-compacted` makes them.
    bumped: bool,
}

fn act(fleet: &Fleet, server: &ApiServer, method: &str, action: &str, body: &[u8]) -> Result<(), Refusal> {
    let snapshots = || fleet.inner.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
    match (method, action) {
        ("DELETE", "faults") => server.clear_faults(),
        ("POST", "break-watches") => server.break_watches(),
        ("POST", "compact") => server.compact(),
        ("POST", "snapshot") => {
            snapshots().insert(server.name().to_owned(), server.snapshot());
        }
        ("POST", "restore") => {
            let Restore { bumped } = read(body)?;
            let kept = snapshots().get(server.name()).cloned();
            let kept = kept.ok_or_else(|| Refusal::bad_request("there is no snapshot of that plane"))?;
            if bumped {
                server.restore_bumped(&kept);
            } else {
                server.restore(&kept);
            }
        }
        ("POST", "put") => {
            server.put(read(body)?)?;
        }
        _ => return Err(Refusal::no_such_path()),
    }
    Ok(())
}

/// A fault as the control API reads it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultRequest {
    fault: String,
    #[serde(default)]
    millis: Option<u64>,
    #[serde(default)]
    code: Option<u16>,
    #[serde(default)]
    retry_after: Option<u32>,
    #[serde(default)]
    verb: Option<String>,
    #[serde(default)]
    resource: Option<String>,
    #[serde(default)]
    times: Option<u32>,
}

impl FaultRequest {
    fn rule(&self) -> Result<FaultRule, Refusal> {
        let needs = |field: &str| Refusal::bad_request(format!("fault {:?} needs {field}", self.fault));
        let fault = match self.fault.as_str() {
            "hang" => Fault::Hang,
            "slow" => Fault::Slow(Duration::from_millis(self.millis.ok_or_else(|| needs("millis"))?)),
            "status" => {
                let code = self.code.filter(|code| (400..600).contains(code));
                Fault::Status(code.ok_or_else(|| needs("a code from 400 to 599"))?)
            }
            "throttle" => Fault::Throttle(self.retry_after.unwrap_or(1)),
            "garbage" => Fault::Garbage,
            "html" => Fault::Html,
            "disconnect" => Fault::Disconnect,
            "lost-answer" => Fault::LostAnswer,
            "cut-short" => Fault::CutShort,
            "empty-list" => Fault::EmptyList,
            other => return Err(Refusal::bad_request(format!("no fault {other:?}"))),
        };
        let rule = fault.on(self.verb.as_deref().unwrap_or("*"), self.resource.as_deref().unwrap_or("*"));
        Ok(match self.times {
            Some(times) => rule.times(times),
            None => rule,
        })
    }
}

/// Updates by another client.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Touch {
    /// How many.
    updates: u64,
    /// The kind of the objects to update, one after the other in the order of their names.
    #[serde(default = "deployment")]
    kind: String,
    /// What of it.
    #[serde(default)]
    what: What,
    /// How many in a second; as fast as can be where nothing is said.
    #[serde(default)]
    per_second: Option<u32>,
}

fn deployment() -> String {
    "WorkloadDeployment".to_owned()
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum What {
    /// An unrelated annotation.
    #[default]
    Annotation,
    /// Something in the spec.
    Spec,
    /// A counter of the status.
    Status,
}

async fn touch(server: &ApiServer, wanted: &Touch) -> Result<u64, Refusal> {
    let names: Vec<(String, String)> = server.names(&wanted.kind);
    if names.is_empty() {
        return Ok(0);
    }
    let start = Instant::now();
    for (turn, (namespace, name)) in (0..wanted.updates).zip(names.iter().cycle()) {
        if let Some(rate) = wanted.per_second.filter(|rate| *rate > 0) {
            tokio::time::sleep_until(start + Duration::from_secs(turn) / rate).await;
        } else if turn % 64 == 0 {
            tokio::task::yield_now().await;
        }
        // Another value than what a touch before this one left.
        let mark = format!("{}-{turn}", server.revision());
        let patch = match wanted.what {
            What::Annotation => {
                json!({ "metadata": { "annotations": { "fake.example.com/touched": mark } } })
            }
            What::Spec => json!({ "spec": { "template": { "metadata": { "annotations": {
                "fake.example.com/touched": mark,
            } } } } }),
            What::Status => json!({ "status": { "readyReplicas": server.revision() % 1000 } }),
        };
        server.shared.with(|world| world.patch_directly(&wanted.kind, namespace, name, &patch))?;
    }
    Ok(wanted.updates)
}
