//! The report of `fedhub planes`: a table, or JSON. Pure.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use fedhub_planes::pauses::stored::{Pause, PausedPlanes};
use serde_json::{Value, json};

use super::service::Service;
use crate::explain::Cause;
use crate::operator::read::ReadError;
use fedhub_terminal::output::{Colour, Format, structured};
use fedhub_terminal::table::painted;

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

/// What is wrong with a plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// One of the causes of `fedhub explain`.
    pub cause: Cause,
    /// The message for people.
    pub message: String,
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
        let problem = Problem { cause: Cause::of_plane(error.failure), message: error.message.clone() };
        Self { problem: Some(problem), ..self }
    }

    fn refuse(&mut self, cause: Cause, message: String) {
        self.problem.get_or_insert(Problem { cause, message });
    }
}

/// A pause in a cell of the table.
fn paused(pause: &Pause, wide: bool) -> String {
    if wide { pause.to_string() } else { "yes".to_owned() }
}

/// All planes, by name.
#[derive(Debug)]
pub struct Report(Vec<PlaneLine>);

impl Report {
    /// Builds the report from what was read, the identities that fedhub remembers by plane, and what is
    /// paused.
    pub fn of(
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

    /// The output in a format.
    pub fn print(&self, format: Format, colours: bool) -> String {
        structured(format, &self.json()).unwrap_or_else(|| self.table(format == Format::Wide, colours))
    }

    fn table(&self, wide: bool, colours: bool) -> String {
        let mut header =
            vec!["NAME", "SERVER", "LATENCY", "WDS", "FEDERATED", "DELETING", "PAUSED", "SERVICE"];
        if wide {
            header.push("SECRET");
        }
        header.push("PROBLEM");
        let last = header.len() - 1;
        let header = header.into_iter().map(str::to_owned).collect();
        let number = |of: fn(&Counts) -> usize, line: &PlaneLine| {
            line.counts.as_ref().map_or_else(String::new, |counts| of(counts).to_string())
        };
        let row = |line: &PlaneLine| {
            let latency = |latency: Duration| format!("{}ms", latency.as_millis());
            let mut row = vec![
                line.name.clone(),
                line.server.clone(),
                line.latency.map_or_else(String::new, latency),
                number(|counts| counts.deployments, line),
                number(|counts| counts.federated, line),
                number(|counts| counts.held, line),
                line.pause.as_ref().map_or_else(String::new, |pause| paused(pause, wide)),
                line.service.map_or_else(String::new, |service| service.id().to_owned()),
            ];
            if wide {
                row.push(line.secret.clone().unwrap_or_default());
            }
            let problem = line.problem.as_ref().map(|it| {
                if wide { format!("{}: {}", it.cause.id(), it.message) } else { it.cause.id().to_owned() }
            });
            row.push(problem.unwrap_or_default());
            row
        };
        let rows: Vec<Vec<String>> = std::iter::once(header).chain(self.0.iter().map(row)).collect();
        painted(&rows, |row, column| {
            let line = self.0.get(row.checked_sub(1)?)?;
            (colours && column == last && line.problem.is_some()).then_some(Colour::Red)
        })
    }

    /// Returns the report as JSON.
    fn json(&self) -> Value {
        let problem = |it: &Problem| json!({"cause": it.cause.id(), "message": it.message, "remedy": it.cause.remedy()});
        let plane = |line: &PlaneLine| {
            json!({
                "name": line.name,
                "paused": line.pause,
                "secret": line.secret,
                "service": line.service.map(Service::id),
                "server": line.server,
                "latencyMilliseconds": line.latency.map(|latency| u64::try_from(latency.as_millis()).unwrap_or(u64::MAX)),
                "workloadDeployments": line.counts.map(|counts| counts.deployments),
                "federated": line.counts.map(|counts| counts.federated),
                "deleting": line.counts.map(|counts| counts.held),
                "problem": line.problem.as_ref().map(problem),
            })
        };
        json!({ "planes": self.0.iter().map(plane).collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
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

    fn report() -> Report {
        let error = ReadError { failure: Failure::Unreachable, message: "no answer within 5 s".to_owned() };
        let silent = PlaneLine { latency: None, counts: None, identities: Vec::new(), ..line("b", "b", "") };
        let remembered = BTreeMap::from([("a".to_owned(), "1".to_owned()), ("c".to_owned(), "3".to_owned())]);
        let granted = PlaneLine { service: Some(Service::Granted), ..line("a", "a", "1") };
        let missing = PlaneLine { service: Some(Service::Missing), ..line("c", "c", "9") };
        let lines = vec![missing, silent.with(&error), granted, line("a", "z", "1"), line("d", "d", "1")];
        Report::of(lines, &remembered, &paused())
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
        let healthy = Report::of(
            vec![line("a", "a", "1"), line("b", "b", "2")],
            &BTreeMap::new(),
            &PausedPlanes::default(),
        );
        assert!(healthy.is_in_order());
        let missing = PlaneLine { service: Some(Service::Missing), ..line("a", "a", "1") };
        let missing = Report::of(vec![missing], &BTreeMap::new(), &PausedPlanes::default());
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
