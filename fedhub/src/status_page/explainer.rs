//! Explains an object as `fedhub explain` does, by the clients of this process.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fedhub_core::names::PlaneName;
use fedhub_core::object::PlaneId;
use fedhub_planes::Planes;
use fedhub_planes::listwatch::limits::ListLimits;
use kube::Client;
use parking_lot::Mutex;

use super::data::{Explained, ObjectAnswer, ObjectQuery};
use crate::explain::{self, ProjectPlane, Request, RolloutSource, State, Subject, SubjectKind};
use crate::operator::connect;
use crate::operator::read::Read;

/// How long a chain may take to be read.
const LIMIT: Duration = Duration::from_secs(5);
/// How long one read of it may: one plane that hangs is to be seen as that.
const READ: Duration = Duration::from_secs(2);

/// How many chains are read at a time, whoever asks: each may hold some forty megabytes of a plane that is
/// made for it.
const TURNS: usize = 2;
/// How much is taken of a list: many times the Instances of one WD.
const LIMITS: ListLimits = ListLimits { objects: 2_000, bytes: 8 << 20 };

/// Reads chains: with the rights of this process, for each caller one at a time, and out of the memory that
/// all planes share.
pub struct Explainer {
    planes: Arc<Planes>,
    management: Client,
    namespace: String,
    lease: String,
    busy: Mutex<BTreeSet<String>>,
}

/// Marks a caller as being served until it is dropped.
struct Turn<'a> {
    busy: &'a Mutex<BTreeSet<String>>,
    caller: String,
}

impl<'a> Turn<'a> {
    fn take(busy: &'a Mutex<BTreeSet<String>>, caller: &str) -> Option<Self> {
        let caller = caller.to_owned();
        let mut callers = busy.lock();
        let is_free = callers.len() < TURNS && callers.insert(caller.clone());
        drop(callers);
        // No value is made while another caller has the turn: dropping it would end that caller's.
        is_free.then(|| Self { busy, caller })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.busy.lock().remove(&self.caller);
    }
}

/// The object that is asked for, or why there can be none.
pub fn subject(query: &ObjectQuery) -> Result<Subject, String> {
    let kind = match query.kind.as_str() {
        "wd" => SubjectKind::WorkloadDeployment,
        "instance" => SubjectKind::Instance,
        other => return Err(format!("kind {other:?} is neither wd nor instance")),
    };
    for (what, value) in [("plane", &query.plane), ("namespace", &query.namespace), ("name", &query.name)] {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
        if value.is_empty() {
            return Err(format!("the {what} is missing"));
        }
        // It becomes part of requests.
        if value.len() > 253 || !value.chars().all(is_name) || value.starts_with('.') {
            return Err(format!("{value:?} is not a valid {what}"));
        }
    }
    let ObjectQuery { plane, namespace, name, .. } = query.clone();
    Ok(Subject { kind, plane, namespace, name })
}

impl Explainer {
    /// Creates an explainer for the planes of the management role, whose `namespace` and Lease are on the
    /// management plane.
    pub fn new(planes: Arc<Planes>, management: Client, namespace: &str, lease: &str) -> Self {
        let namespace = namespace.to_owned();
        let lease = lease.to_owned();
        Self { planes, management, namespace, lease, busy: Mutex::default() }
    }

    /// Explains an object to a caller.
    pub async fn explain(&self, caller: &str, query: &ObjectQuery) -> ObjectAnswer {
        let subject = match subject(query) {
            Ok(subject) => subject,
            Err(fault) => return ObjectAnswer::Invalid(fault),
        };
        let plane = PlaneName::new(&subject.plane).ok().and_then(|name| self.planes.project(&name));
        let Some(plane) = plane else {
            return ObjectAnswer::Unavailable(format!("it has not engaged a plane {:?}", subject.plane));
        };
        let Some(_turn) = Turn::take(&self.busy, caller) else { return ObjectAnswer::Busy };
        let connection = |client: Client, id: &PlaneId| {
            Read::Found(connect::Plane {
                client,
                server: id.to_string(),
                timeout: READ,
                limits: LIMITS,
                id: id.clone(),
                budget: self.planes.budget().clone(),
            })
        };
        let request = Request {
            now: None,
            project: ProjectPlane::Given(connection(plane.client(), &plane.id)),
            hub: connection(self.planes.anchor().client(), &PlaneId::Hub),
            management: connection(self.management.clone(), &PlaneId::Management),
            namespace: self.namespace.clone(),
            lease: self.lease.clone(),
            cells: std::collections::BTreeMap::new(),
            rollout: RolloutSource::Planes,
            works: false,
            timeout: READ,
            subject,
        };
        let began = Instant::now();
        match tokio::time::timeout(LIMIT, Box::pin(explain::read(request))).await {
            Ok(chain) => ObjectAnswer::Explained(Box::new(explained(&chain, began.elapsed()))),
            Err(_) => ObjectAnswer::TimedOut(LIMIT),
        }
    }
}

/// The words of a chain.
pub fn explained(chain: &explain::Chain, took: Duration) -> Explained {
    let diagnosis = explain::diagnose(chain);
    let here = |row: &explain::Row| row.hop == diagnosis.hop && diagnosis.state != State::InSync;
    Explained {
        state: diagnosis.state,
        verdict: explain::verdict(chain, &diagnosis),
        hops: explain::rows(chain)
            .into_iter()
            .map(|row| {
                let here = here(&row);
                (row, here)
            })
            .collect(),
        now: chain.now,
        took,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_checked_before_it_becomes_a_request() {
        let query = |kind: &str, plane: &str, namespace: &str, name: &str| ObjectQuery {
            kind: kind.to_owned(),
            plane: plane.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        assert!(subject(&query("wd", "project-a", "shop", "web")).is_ok());
        assert_eq!(subject(&query("instance", "a", "n", "web-0")).unwrap().kind, SubjectKind::Instance);
        for (query, fault) in [
            (query("pod", "a", "n", "x"), "kind \"pod\" is neither wd nor instance"),
            (query("wd", "", "n", "x"), "the plane is missing"),
            (query("wd", "a", "n", ""), "the name is missing"),
            (query("wd", "a", "..", "x"), "\"..\" is not a valid namespace"),
            (query("wd", "a", "n", "x/status"), "\"x/status\" is not a valid name"),
            (query("wd", "a?x", "n", "x"), "\"a?x\" is not a valid plane"),
        ] {
            assert_eq!(subject(&query).unwrap_err(), fault);
        }
    }

    #[test]
    fn a_caller_has_one_turn_at_a_time_and_another_has_its_own() {
        let busy = Mutex::default();
        let turn = Turn::take(&busy, "a").unwrap();
        assert!(Turn::take(&busy, "a").is_none());
        assert!(Turn::take(&busy, "b").is_some());
        drop(turn);
        assert!(Turn::take(&busy, "a").is_some());
        assert!(busy.lock().is_empty());
    }

    #[test]
    fn i8_no_more_chains_are_read_at_a_time_than_there_are_turns() {
        let busy = Mutex::default();
        let turns: Vec<_> =
            (0..TURNS).map(|caller| Turn::take(&busy, &caller.to_string()).unwrap()).collect();
        assert!(Turn::take(&busy, "late").is_none());
        drop(turns);
        assert!(Turn::take(&busy, "late").is_some());
    }
}
