//! The report of `fedhub check`: a table, or JSON. Pure.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use strum::VariantArray;

use super::finding::{CheckId, Finding, Part, State};
use fedhub_terminal::output::Colour;
use fedhub_terminal::report::{Field, Look, Report, Row, list_of, parts, table_of};

/// What all checks found.
#[derive(Debug)]
pub struct Checked(pub Vec<Finding>);

/// A line of the table. What continues the line before it has a blank in each other column.
struct Line {
    state: Option<State>,
    plane: String,
    check: &'static str,
    found: String,
}

impl Row for Line {
    const FIELDS: &'static [Field<Self>] = &[
        Field::column("STATE", |line: &Self| json!(line.state.map_or(" ", State::id)))
            .painted(|line| line.state.and_then(colour)),
        Field::column("PLANE", |line| json!(line.plane)),
        Field::column("CHECK", |line| json!(line.check)),
        Field::column("FOUND", |line| json!(line.found)),
    ];
}

impl Row for Finding {
    const FIELDS: &'static [Field<Self>] = &[
        Field::named("check", |finding| json!(finding.check.id())),
        Field::named("plane", |finding| json!(finding.plane.name)),
        Field::named("part", |finding| json!(finding.plane.part.id())),
        Field::named("state", |finding| json!(finding.state.id())),
        Field::named("found", |finding| json!(finding.found)),
        Field::named("remedy", |finding| json!(finding.remedy)),
    ];
}

impl Line {
    fn new(finding: &Finding, plane: String, found: String) -> Self {
        Self { state: Some(finding.state), plane, check: finding.check.id(), found }
    }
}

/// Two lines for each finding that needs something to be done. Of project planes those that are in order are
/// one line for each check, unless all are asked for.
fn lines(findings: &[Finding], wide: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    let many = |finding: &&Finding| !wide && finding.plane.part.is_project() && finding.state == State::Ok;
    let mut in_order: BTreeMap<(Part, CheckId), usize> = BTreeMap::new();
    for finding in findings.iter().filter(many) {
        *in_order.entry((finding.plane.part, finding.check)).or_default() += 1;
    }
    for finding in findings {
        if many(&finding) {
            match in_order.remove(&(finding.plane.part, finding.check)) {
                None => continue,
                Some(1) => {}
                Some(count) => {
                    lines.push(Line::new(finding, format!("{count} planes"), "in order".to_owned()));
                    continue;
                }
            }
        }
        lines.push(Line::new(finding, shown(finding), finding.found.clone()));
        if !finding.remedy.is_empty() {
            let found = format!("-> {}", finding.remedy);
            lines.push(Line { state: None, plane: " ".to_owned(), check: " ", found });
        }
    }
    lines
}

fn shown(finding: &Finding) -> String {
    match finding.plane.part {
        Part::QuotaProject => format!("{} (quota)", finding.plane.name),
        _ => finding.plane.name.clone(),
    }
}

fn colour(state: State) -> Option<Colour> {
    match state {
        State::Ok => Some(Colour::Green),
        State::Warning => Some(Colour::Yellow),
        State::Failed => Some(Colour::Red),
        State::Skipped => None,
    }
}

impl Report for Checked {
    fn text(&self, look: Look) -> String {
        parts([table_of(&lines(&self.0, look.wide), look), summary(&self.0)])
    }

    /// The names are documented in `docs/reference/cli.md`.
    fn json(&self) -> Value {
        let counts: serde_json::Map<String, Value> = State::VARIANTS
            .iter()
            .map(|state| (state.id().to_owned(), Value::from(count(&self.0, *state))))
            .collect();
        json!({ "checks": list_of(&self.0), "summary": counts })
    }
}

fn count(findings: &[Finding], state: State) -> usize {
    findings.iter().filter(|finding| finding.state == state).count()
}

fn summary(findings: &[Finding]) -> String {
    let parts = State::VARIANTS.iter().map(|state| format!("{} {}", count(findings, *state), state.id()));
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use fedhub_terminal::output::Format;
    use fedhub_testing::{Messages, assert_messages};

    use super::super::finding::PlaneName;
    use super::*;

    #[test]
    fn u4_the_report_of_check_reads_well() {
        let hub = PlaneName::from_part(Part::Hub);
        let management = PlaneName::from_part(Part::Management);
        let project = |name: &str| PlaneName::project(Part::Project, name);
        let findings = Checked(vec![
            Finding::ok(CheckId::Reachable, &management, "https://management.example.com, v1.36.0"),
            Finding::failed(
                CheckId::Rights,
                &hub,
                "may not create/update namespaces",
                "apply deploy/components/hub/cluster-role.yaml of this version, and bind it to the user of the kubeconfig",
            ),
            Finding::skipped(CheckId::AdmissionPolicies, &hub, "forbidden", "run it with an administrator's"),
            Finding::ok(CheckId::Clock, &project("a"), "agrees with this machine's"),
            Finding::warning(
                CheckId::Clock,
                &project("b"),
                "the server's clock is 9 s behind",
                "synchronise",
            ),
            Finding::ok(CheckId::Clock, &project("c"), "agrees with this machine's"),
            Finding::ok(CheckId::Rights, &project("c"), "all 6 that deploy/ grants"),
            Finding::ok(
                CheckId::Rights,
                &PlaneName::project(Part::QuotaProject, "c"),
                "all 6 that deploy/ grants",
            ),
        ]);
        let formats = [("table", Format::Table), ("wide", Format::Wide), ("json", Format::Json)];
        let printed = formats.map(|(label, format)| (label, findings.print(format, false)));
        let mut messages = Messages::default();
        messages.section("fedhub check", printed);
        assert_messages!("check", messages);
        let coloured = findings.print(Format::Table, true);
        assert_eq!(coloured.matches("\u{1b}[31mfailed\u{1b}[0m ").count(), 1, "{coloured}");
        assert_eq!(coloured.matches("\u{1b}[3").count(), 6, "{coloured}");
    }
}
