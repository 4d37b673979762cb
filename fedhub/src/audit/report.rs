//! What `fedhub audit` prints: a table with what to do below it, or JSON. Pure.

use std::collections::BTreeSet;

use fedhub_core::clock::stamp;
use fedhub_core::object::PlaneId;
use fedhub_planes::pauses::stored::Pause;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::finding::{Discrepancy, Finding};
use crate::operator::fleet::Unread;
use fedhub_terminal::output::{Colour, Format, structured};
use fedhub_terminal::table::{age, counted, painted, table};

/// What was found, and what was not read.
#[derive(Debug)]
pub struct Report {
    /// The time of the audit.
    pub now: Timestamp,
    /// The number of project planes that were read.
    pub planes: usize,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What was not read.
    pub unread: Vec<Unread>,
    /// What operators paused.
    pub paused: Vec<(String, Pause)>,
}

impl Report {
    /// Whether anything stands that matters.
    pub fn has_problems(&self) -> bool {
        self.findings.iter().any(Finding::is_problem)
    }

    /// Whether everything was read.
    pub fn is_complete(&self) -> bool {
        self.unread.is_empty()
    }

    /// The output in a format.
    pub fn print(&self, format: Format, colours: bool) -> String {
        structured(format, &self.json()).unwrap_or_else(|| self.text(format == Format::Wide, colours))
    }

    fn text(&self, wide: bool, colours: bool) -> String {
        let shown: Vec<&Finding> =
            self.findings.iter().filter(|it| wide || !(it.settling || it.paused)).collect();
        let mut parts = Vec::new();
        if !shown.is_empty() {
            parts.push(self.table(&shown, wide, colours));
            parts.extend(remedies(&shown));
        }
        if !self.paused.is_empty() {
            let header = ["PAUSED PLANE", "PAUSE"].map(str::to_owned).to_vec();
            let row = |(plane, pause): &(String, Pause)| vec![plane.clone(), pause.to_string()];
            let rows: Vec<_> = std::iter::once(header).chain(self.paused.iter().map(row)).collect();
            parts.push(table(&rows));
        }
        if !self.unread.is_empty() {
            let header = ["UNREAD PLANE", "CAUSE", "MESSAGE"].map(str::to_owned).to_vec();
            let row = |it: &Unread| vec![it.plane.clone(), it.cause.id().to_owned(), it.message.clone()];
            let rows: Vec<_> = std::iter::once(header).chain(self.unread.iter().map(row)).collect();
            parts.push(table(&rows));
        }
        parts.push(self.summary());
        parts.join("\n\n")
    }

    fn table(&self, findings: &[&Finding], wide: bool, colours: bool) -> String {
        let mut header = vec!["FINDING", "PLANE", "ON", "OBJECT", "AGE", "ACTS"];
        if wide {
            header.insert(1, "STATE");
        }
        header.push("DETAIL");
        let last = header.len() - 1;
        let row = |finding: &&Finding| {
            let mut row = vec![
                finding.discrepancy.id().to_owned(),
                finding.plane.clone(),
                on(&finding.subject.plane).to_owned(),
                object(finding),
                finding.since.map_or_else(String::new, |since| age(since, self.now)),
                finding.discrepancy.responsible().to_string(),
                finding.detail.clone(),
            ];
            if wide {
                row.insert(1, state(finding).to_owned());
            }
            row
        };
        let header = header.into_iter().map(str::to_owned).collect();
        let rows: Vec<_> = std::iter::once(header).chain(findings.iter().map(row)).collect();
        painted(&rows, |row, column| {
            let finding = findings.get(row.checked_sub(1)?)?;
            (colours && column == last && finding.is_problem()).then_some(Colour::Red)
        })
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

    /// Returns the report as JSON. The names are documented in `docs/reference/audit.md`.
    pub fn json(&self) -> Value {
        let finding = |it: &Finding| {
            json!({
                "finding": it.discrepancy.id(),
                "state": state(it),
                "plane": it.plane,
                "object": {
                    "on": on(&it.subject.plane),
                    "kind": it.subject.kind.resource().kind,
                    "namespace": it.subject.namespace,
                    "name": it.subject.name,
                },
                "meaning": it.discrepancy.meaning(),
                "detail": it.detail,
                "since": it.since.map(stamp),
                "ageSeconds": it.since.map(|since| self.now.duration_since(since).as_secs().max(0)),
                "responsible": it.discrepancy.responsible().to_string(),
                "remedy": it.discrepancy.remedy(),
            })
        };
        let unread = |it: &Unread| json!({"plane": it.plane, "cause": it.cause.id(), "message": it.message, "remedy": it.cause.remedy()});
        let paused = |(plane, pause): &(String, Pause)| json!({"plane": plane, "pause": pause});
        json!({
            "planesRead": self.planes,
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
            "unread": self.unread.iter().map(unread).collect::<Vec<_>>(),
            "paused": self.paused.iter().map(paused).collect::<Vec<_>>(),
        })
    }
}

/// What to do about each discrepancy that was found.
fn remedies(findings: &[&Finding]) -> Option<String> {
    let found: BTreeSet<Discrepancy> = findings.iter().map(|it| it.discrepancy).collect();
    let line = |it: Discrepancy| vec![format!("{}:", it.id()), format!("{}; {}", it.meaning(), it.remedy())];
    let lines: Vec<_> = found.into_iter().filter(|it| !it.remedy().is_empty()).map(line).collect();
    (!lines.is_empty()).then(|| format!("What to do:\n{}", table(&lines)))
}

/// The state of a finding, in one word.
pub fn state(finding: &Finding) -> &'static str {
    match finding {
        Finding { paused: true, .. } => "paused",
        Finding { settling: true, .. } => "settling",
        _ if finding.discrepancy.is_problem() => "problem",
        _ => "notice",
    }
}

fn on(plane: &PlaneId) -> &'static str {
    plane.kind()
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
    use fedhub_core::object::{Key, Kind};
    use fedhub_testing::{Messages, assert_messages};
    use strum::VariantArray;

    use super::*;

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

    fn report() -> Report {
        Report {
            now: Timestamp::from_second(1_800_000_000).unwrap(),
            planes: 2,
            findings: vec![
                finding(Discrepancy::Orphan, Kind::WorkloadDeployment, false, Some(4000)),
                finding(Discrepancy::StatusNotMirrored, Kind::WorkloadDeployment, false, None),
                finding(Discrepancy::PolicyMissing, Kind::PropagationPolicy, true, Some(3)),
                finding(Discrepancy::EmptyHubNamespace, Kind::Namespace, false, Some(90000)),
            ],
            unread: vec![Unread {
                plane: "project-b".to_owned(),
                cause: crate::explain::Cause::PlaneUnreachable,
                message: "no answer within 5 s".to_owned(),
            }],
            paused: Vec::new(),
        }
    }

    #[test]
    fn u4_the_audit_reads_well() {
        let formats = [("table", Format::Table), ("wide", Format::Wide), ("json", Format::Json)];
        let printed = formats.map(|(label, format)| (label.to_owned(), report().print(format, false)));
        let clean = Report { findings: Vec::new(), unread: Vec::new(), planes: 1, ..report() };
        let mut paused = report();
        paused.findings.iter_mut().for_each(|it| it.paused = true);
        let pause = Pause { reason: Some("etcd maintenance".to_owned()), ..Pause::default() };
        paused.paused = vec![("project-a".to_owned(), pause)];
        assert!(!paused.has_problems());
        let paused = [
            ("paused".to_owned(), paused.print(Format::Table, false)),
            ("paused, wide".to_owned(), paused.print(Format::Wide, false)),
        ];
        assert!(!clean.has_problems() && clean.is_complete());
        let about = Discrepancy::VARIANTS.iter().map(|it| {
            let (meaning, acts, remedy) = (it.meaning(), it.responsible(), it.remedy());
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
