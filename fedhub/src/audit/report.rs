//! What `fedhub audit` prints: a table with what to do below it, or JSON. Pure.

use std::collections::BTreeSet;

use fedhub_core::clock::stamp;
use fedhub_core::object::Key;
use fedhub_planes::pauses::stored::Pause;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::finding::{Discrepancy, Finding};
use crate::operator::fleet::Unread;
use fedhub_terminal::output::Colour;
use fedhub_terminal::report::{Field, Look, Report, Row, list_of, parts, table_of_any};
use fedhub_terminal::table::{age, counted, seconds, table};

/// What was found, and what was not read.
#[derive(Debug)]
pub struct Audited {
    /// The time of the audit.
    pub now: Timestamp,
    /// The number of project planes that were read.
    pub planes: usize,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What was not read.
    pub unread: Vec<Unread>,
    /// What operators paused.
    pub paused: Vec<Paused>,
}

/// A plane that an operator paused, or all of them.
#[derive(Clone, Debug)]
pub struct Paused {
    /// The name of the plane, or `all planes`.
    pub plane: String,
    /// The pause.
    pub pause: Pause,
}

impl Row for Paused {
    const FIELDS: &'static [Field<Self>] = &[
        Field::new("plane", "PAUSED PLANE", |paused| json!(paused.plane)),
        Field::named("pause", |paused| json!(paused.pause)),
        Field::column("PAUSE", |paused| json!(paused.pause.to_string())),
    ];
}

/// A finding, at the time of the audit. The names are documented in `docs/reference/audit.md`.
struct Found {
    finding: Finding,
    now: Timestamp,
}

impl Row for Found {
    const FIELDS: &'static [Field<Self>] = &[
        Field::new("finding", "FINDING", |it| json!(it.finding.discrepancy.id())),
        Field::new("state", "STATE", |it: &Self| json!(state(&it.finding))).wide(),
        Field::new("plane", "PLANE", |it| json!(it.finding.plane)),
        Field::column("ON", |it| json!(it.finding.subject.plane.kind())),
        Field::column("OBJECT", |it| json!(object(&it.finding))),
        Field::named("object", |it| {
            let Key { plane, kind, namespace, name } = &it.finding.subject;
            json!({"on": plane.kind(), "kind": kind.resource().kind, "namespace": namespace, "name": name})
        }),
        Field::column("AGE", |it| json!(it.finding.since.map(|since| age(since, it.now)))),
        Field::new("responsible", "ACTS", |it| json!(it.finding.discrepancy.responsible().to_string())),
        Field::new("detail", "DETAIL", |it: &Self| json!(it.finding.detail))
            .painted(|it| it.finding.is_problem().then_some(Colour::Red)),
        Field::named("meaning", |it| json!(it.finding.discrepancy.meaning())),
        Field::named("remedy", |it| json!(it.finding.discrepancy.remedy())),
        Field::named("since", |it| json!(it.finding.since.map(stamp))),
        Field::named("ageSeconds", |it| json!(it.finding.since.map(|since| seconds(since, it.now)))),
    ];
}

impl Audited {
    /// Whether anything stands that matters.
    pub fn has_problems(&self) -> bool {
        self.findings.iter().any(Finding::is_problem)
    }

    /// Whether everything was read.
    pub fn is_complete(&self) -> bool {
        self.unread.is_empty()
    }

    fn found(&self) -> impl Iterator<Item = Found> {
        self.findings.iter().map(|finding| Found { finding: finding.clone(), now: self.now })
    }

    fn summary(&self) -> String {
        let count = |state_is: &str| self.findings.iter().filter(|it| state(it) == state_is).count();
        let mut text = format!(
            "{} read, {} not read; {}, {}, {} settling, {} paused",
            counted(self.planes, "plane"),
            self.unread.len(),
            counted(count("problem"), "problem"),
            counted(count("notice"), "notice"),
            count("settling"),
            count("paused"),
        );
        if !self.is_complete() {
            text.push_str("\nNothing was judged of planes that were not read.");
        }
        if !self.paused.is_empty() {
            text.push_str("\nWhat differs on a paused plane is no problem: fedhub writes nothing for it until fedhub resume.");
        }
        text
    }
}

impl Report for Audited {
    fn text(&self, look: Look) -> String {
        let shown: Vec<Found> = self
            .found()
            .filter(|Found { finding, .. }| look.wide || !(finding.settling || finding.paused))
            .collect();
        parts([
            table_of_any(&shown, look),
            remedies(&shown),
            table_of_any(&self.paused, look),
            table_of_any(&self.unread, look),
            self.summary(),
        ])
    }

    fn json(&self) -> Value {
        json!({
            "planesRead": self.planes,
            "findings": list_of(&self.found().collect::<Vec<_>>()),
            "unread": list_of(&self.unread),
            "paused": list_of(&self.paused),
        })
    }
}

/// What to do about each discrepancy that was found; empty where nobody has to do anything.
fn remedies(findings: &[Found]) -> String {
    let found: BTreeSet<Discrepancy> = findings.iter().map(|it| it.finding.discrepancy).collect();
    let lines: Vec<_> = found
        .into_iter()
        .filter(|it| !it.remedy().is_empty())
        .map(|it| vec![format!("{}:", it.id()), format!("{}; {}", it.meaning(), it.remedy())])
        .collect();
    if lines.is_empty() { String::new() } else { format!("What to do:\n{}", table(&lines)) }
}

/// The state of a finding, in one word.
fn state(finding: &Finding) -> &'static str {
    match finding {
        Finding { paused: true, .. } => "paused",
        Finding { settling: true, .. } => "settling",
        _ if finding.discrepancy.is_problem() => "problem",
        _ => "notice",
    }
}

/// Kind, namespace and name of a finding's object.
fn object(finding: &Finding) -> String {
    let subject = &finding.subject;
    let kind = &subject.kind.resource().kind;
    if subject.namespace.is_empty() {
        format!("{kind} {}", subject.name)
    } else {
        format!("{kind} {}/{}", subject.namespace, subject.name)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use fedhub_core::names::PlaneName;
    use fedhub_core::object::{Kind, PlaneId};
    use fedhub_terminal::output::Format;
    use fedhub_testing::{Messages, assert_messages};
    use strum::VariantArray;

    use super::*;
    use crate::explain::Cause;

    fn finding(discrepancy: Discrepancy, kind: Kind, settling: bool, seconds: Option<i64>) -> Finding {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let plane = PlaneId::Project(PlaneName::new("project-a").unwrap());
        let plane = if discrepancy == Discrepancy::StatusNotMirrored { plane } else { PlaneId::Hub };
        let namespace = if kind == Kind::Namespace { "" } else { "ns-1" };
        Finding {
            discrepancy,
            subject: Key { plane, kind, namespace: namespace.into(), name: "web".into() },
            plane: "project-a".to_owned(),
            detail: "in words".to_owned(),
            since: seconds.map(|seconds| now - jiff::SignedDuration::from_secs(seconds)),
            settling,
            paused: false,
            rests_on: Vec::new(),
        }
    }

    fn report() -> Audited {
        Audited {
            now: Timestamp::from_second(1_800_000_000).unwrap(),
            planes: 2,
            findings: vec![
                finding(Discrepancy::Orphan, Kind::WorkloadDeployment, false, Some(4000)),
                finding(Discrepancy::StatusNotMirrored, Kind::WorkloadDeployment, false, None),
                finding(Discrepancy::PolicyMissing, Kind::PropagationPolicy, true, Some(3)),
                finding(Discrepancy::EmptyHubNamespace, Kind::Namespace, false, Some(90000)),
            ],
            unread: vec![Unread::new("project-b", Cause::PlaneUnreachable, "no answer within 5 s")],
            paused: Vec::new(),
        }
    }

    #[test]
    fn u4_the_audit_reads_well() {
        let formats = [("table", Format::Table), ("wide", Format::Wide), ("json", Format::Json)];
        let printed = formats.map(|(label, format)| (label.to_owned(), report().print(format, false)));
        let clean = Audited { findings: Vec::new(), unread: Vec::new(), planes: 1, ..report() };
        let mut paused = report();
        paused.findings.iter_mut().for_each(|it| it.paused = true);
        let pause = Pause { reason: Some("etcd maintenance".to_owned()), ..Pause::default() };
        paused.paused = vec![Paused { plane: "project-a".to_owned(), pause }];
        assert!(!paused.has_problems());
        let paused = [
            ("paused".to_owned(), paused.print(Format::Table, false)),
            ("paused, wide".to_owned(), paused.print(Format::Wide, false)),
        ];
        assert!(!clean.has_problems() && clean.is_complete());
        let about = Discrepancy::VARIANTS.iter().map(|it| {
            let meaning = it.meaning();
            let acts = it.responsible();
            let remedy = it.remedy();
            (it.id().to_owned(), format!("{meaning}\nacts: {acts}\nremedy: {remedy}").trim_end().to_owned())
        });
        let mut messages = Messages::default();
        let clean = ("clean".to_owned(), clean.print(Format::Table, false));
        messages
            .section("fedhub audit", printed.into_iter().chain([clean]).chain(paused))
            .section("Findings", about);
        assert_messages!("audit", messages);
    }

    #[test]
    fn u4_only_what_stands_and_matters_is_a_problem() {
        let mut report = report();
        assert!(report.has_problems() && !report.is_complete());
        report.findings.retain(|it| state(it) != "problem");
        assert_eq!(report.findings.len(), 2);
        assert!(!report.has_problems(), "what settles, and what is left empty, is none");
    }

    /// The table of `docs/reference/audit.md` is what the code has.
    #[test]
    fn u4_the_reference_names_every_finding() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/audit.md");
        let document = fs::read_to_string(path).unwrap();
        let rows: Vec<&str> = document.lines().filter(|line| line.starts_with("| `")).collect();
        let row = |it: &Discrepancy| {
            let cells = [it.meaning(), &it.responsible().to_string(), it.remedy()];
            format!("| `{}` | {} |", it.id(), cells.join(" | ")).replace("|  |", "| |")
        };
        let expected: Vec<String> = Discrepancy::VARIANTS.iter().map(row).collect();
        let missing: Vec<_> = expected.iter().filter(|it| !rows.contains(&it.as_str())).cloned().collect();
        assert!(missing.is_empty(), "docs/reference/audit.md lacks\n{}", missing.join("\n"));
        let of_findings = rows.iter().filter(|row| row.matches(" | ").count() > 1);
        let other: Vec<_> = of_findings.filter(|row| !expected.contains(&(**row).to_string())).collect();
        assert!(other.is_empty(), "docs/reference/audit.md has rows that the code has not: {other:?}");
    }
}
