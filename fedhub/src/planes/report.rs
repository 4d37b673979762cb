//! The report of `fedhub planes`: a table, or JSON. Pure.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use fedhub_planes::pauses::stored::{Pause, PausedPlanes};
use serde_json::{Value, json};

use super::service::Service;
use crate::explain::Cause;
use crate::operator::fleet::Problem;
use crate::operator::read::ReadError;
use fedhub_terminal::output::Colour;
use fedhub_terminal::report::{Field, Look, Report, Row, list_of, table_of};

/// The WDs of a plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All.
    deployments: usize,
    /// Those that carry the federator's finalizer.
    federated: usize,
    /// Those of the federated ones that are being deleted: their cleanup is not done.
    held: usize,
}

impl Counts {
    /// One more WD: whether it carries the federator's finalizer, and is being deleted.
    pub fn add(&mut self, federated: bool, terminating: bool) {
        self.deployments += 1;
        self.federated += usize::from(federated);
        self.held += usize::from(federated && terminating);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { deployments, federated, held: _ } = self;
        write!(f, "{deployments} WorkloadDeployments, {federated} of them federated")
    }
}

/// A plane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaneLine {
    name: String,
    secret: Option<String>,
    /// Its server; empty where none is known.
    pub server: String,
    /// How long its first answer took.
    pub latency: Option<Duration>,
    /// The UIDs by which it is identified.
    pub identities: Vec<String>,
    /// Its WDs.
    pub counts: Option<Counts>,
    /// Its pause, or that of all planes.
    pub pause: Option<Pause>,
    /// The service in its project, where fedhub remembers that.
    pub service: Option<Service>,
    /// What is wrong with it.
    pub problem: Option<Problem>,
}

impl PlaneLine {
    /// A plane that was not asked yet, and the Secret with its kubeconfig, where one has it.
    pub fn new(name: &str, secret: Option<&str>) -> Self {
        Self { name: name.to_owned(), secret: secret.map(str::to_owned), ..Self::default() }
    }

    /// Adds the error of a read.
    pub fn with(self, error: &ReadError) -> Self {
        Self { problem: Some(error.into()), ..self }
    }

    fn refuse(&mut self, cause: Cause, message: String) {
        self.problem.get_or_insert(Problem { cause, message });
    }

    fn milliseconds(&self) -> Option<u64> {
        self.latency.map(|latency| u64::try_from(latency.as_millis()).unwrap_or(u64::MAX))
    }

    fn colour(&self) -> Option<Colour> {
        self.problem.as_ref().map(|_| Colour::Red)
    }
}

impl Row for PlaneLine {
    const FIELDS: &'static [Field<Self>] = &[
        Field::new("name", "NAME", |line| json!(line.name)),
        Field::new("server", "SERVER", |line| json!(line.server)),
        Field::named("latencyMilliseconds", |line| json!(line.milliseconds())),
        Field::column("LATENCY", |line| json!(line.milliseconds().map(|latency| format!("{latency}ms")))),
        Field::new("workloadDeployments", "WDS", |line| json!(line.counts.map(|counts| counts.deployments))),
        Field::new("federated", "FEDERATED", |line| json!(line.counts.map(|counts| counts.federated))),
        Field::new("deleting", "DELETING", |line| json!(line.counts.map(|counts| counts.held))),
        Field::named("paused", |line| json!(line.pause)),
        Field::column("PAUSED", |line: &Self| json!(line.pause.as_ref().map(|_| "yes"))).narrow(),
        Field::column("PAUSED", |line: &Self| json!(line.pause.as_ref().map(Pause::to_string))).wide(),
        Field::new("service", "SERVICE", |line| json!(line.service.map(Service::id))),
        Field::new("secret", "SECRET", |line: &Self| json!(line.secret)).wide(),
        Field::named("problem", |line| json!(line.problem)),
        Field::column("PROBLEM", |line: &Self| json!(line.problem.as_ref().map(|it| it.cause.id())))
            .painted(Self::colour)
            .narrow(),
        Field::column("PROBLEM", |line: &Self| json!(line.problem.as_ref().map(Problem::to_string)))
            .painted(Self::colour)
            .wide(),
    ];
}

/// All planes, by name.
#[derive(Debug)]
pub struct Planes(Vec<PlaneLine>);

impl Planes {
    /// Creates the report of what was read, with the identities that fedhub remembers and the planes that are
    /// paused.
    pub fn new(
        mut lines: Vec<PlaneLine>,
        remembered: &BTreeMap<String, String>,
        paused: &PausedPlanes,
    ) -> Self {
        lines.sort_by(|a, b| (&a.name, &a.secret).cmp(&(&b.name, &b.secret)));
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        let mut clusters: BTreeMap<String, String> = BTreeMap::new();
        for line in &mut lines {
            line.pause = paused.pause(&line.name).cloned();
            if let Some(other) = names.get(&line.name) {
                let message = format!("Secret {other} names the plane already");
                line.refuse(Cause::PlaneSecretInvalid, message);
                continue;
            }
            names.insert(line.name.clone(), line.secret.clone().unwrap_or_default());
            let Some(identity) = line.identities.first().cloned() else { continue };
            let known = remembered.get(&line.name);
            if let Some(known) = known.filter(|known| !line.identities.contains(known)) {
                let message =
                    format!("the cluster {identity} answers, and {known} is remembered for the name");
                line.refuse(Cause::PlaneIdentityRefused, message);
            }
            match clusters.get(&identity) {
                Some(other) => {
                    let message = format!("the cluster {identity} is the plane {other} already");
                    line.refuse(Cause::PlaneIdentityRefused, message);
                }
                None => drop(clusters.insert(identity, line.name.clone())),
            }
        }
        Self(lines)
    }

    /// Whether no plane has a problem, and no entitlement is missing.
    pub fn is_in_order(&self) -> bool {
        self.0.iter().all(|line| line.problem.is_none() && line.service != Some(Service::Missing))
    }
}

impl Report for Planes {
    fn text(&self, look: Look) -> String {
        table_of(&self.0, look)
    }

    fn json(&self) -> Value {
        json!({ "planes": list_of(&self.0) })
    }
}

#[cfg(test)]
mod tests {
    use fedhub_terminal::output::Format;
    use fedhub_testing::{Messages, assert_messages};

    use super::*;
    use crate::operator::read::Failure;

    fn line(name: &str, secret: &str, identity: &str) -> PlaneLine {
        PlaneLine {
            server: format!("https://{name}.example.com:6443"),
            latency: Some(Duration::from_millis(12)),
            identities: vec![identity.to_owned()],
            counts: Some(Counts { deployments: 40, federated: 39, held: 1 }),
            ..PlaneLine::new(name, Some(secret))
        }
    }

    fn paused() -> PausedPlanes {
        let reason = Some("etcd maintenance".to_owned());
        let pause =
            Pause { reason, by: Some("eve".to_owned()), since: Some("2026-01-02T03:04:05Z".to_owned()) };
        PausedPlanes { all: None, planes: [("c".to_owned(), pause)].into() }
    }

    fn report() -> Planes {
        let error = ReadError { failure: Failure::Unreachable, message: "no answer within 5 s".to_owned() };
        let silent = PlaneLine { latency: None, counts: None, identities: Vec::new(), ..line("b", "b", "") };
        let remembered = BTreeMap::from([("a".to_owned(), "1".to_owned()), ("c".to_owned(), "3".to_owned())]);
        let granted = PlaneLine { service: Some(Service::Granted), ..line("a", "a", "1") };
        let missing = PlaneLine { service: Some(Service::Missing), ..line("c", "c", "9") };
        let lines = vec![missing, silent.with(&error), granted, line("a", "z", "1"), line("d", "d", "1")];
        Planes::new(lines, &remembered, &paused())
    }

    #[test]
    fn u4_planes_are_listed_with_their_problems() {
        let report = report();
        assert!(!report.is_in_order());
        let planes = report.json();
        let causes: Vec<_> =
            planes["planes"].as_array().unwrap().iter().map(|it| it["problem"]["cause"].as_str()).collect();
        let identity = Some("plane-identity-refused");
        assert_eq!(
            causes,
            [None, Some("plane-secret-invalid"), Some("plane-unreachable"), identity, identity],
            "{planes:#}"
        );
        let healthy = Planes::new(
            vec![line("a", "a", "1"), line("b", "b", "2")],
            &BTreeMap::new(),
            &PausedPlanes::default(),
        );
        assert!(healthy.is_in_order());
        let missing = PlaneLine { service: Some(Service::Missing), ..line("a", "a", "1") };
        let missing = Planes::new(vec![missing], &BTreeMap::new(), &PausedPlanes::default());
        assert!(!missing.is_in_order(), "an operator decides");
        let mut counts = Counts::default();
        for (federated, terminating) in [(true, true), (true, false), (false, true)] {
            counts.add(federated, terminating);
        }
        assert_eq!(counts, Counts { deployments: 3, federated: 2, held: 1 });
    }

    #[test]
    fn u4_the_list_of_planes_reads_well() {
        let formats = [("table", Format::Table), ("wide", Format::Wide), ("json", Format::Json)];
        let printed = formats.map(|(label, format)| (label, report().print(format, false)));
        let mut messages = Messages::default();
        messages.section("fedhub planes", printed);
        assert_messages!("planes", messages);
    }
}
