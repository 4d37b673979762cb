//! The report of `fedhub check`: a table, or JSON. Pure.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use strum::VariantArray;

use super::finding::{CheckId, Finding, Part, State};
use fedhub_terminal::output::{Colour, Format, structured};
use fedhub_terminal::table::painted;

/// The output in a format.
pub fn print(findings: &[Finding], format: Format, colours: bool) -> String {
    structured(format, &json(findings)).unwrap_or_else(|| {
        let rows = rows(findings, format == Format::Wide);
        let table =
            painted(&rows, |row, column| if colours && column == 0 { colour(&rows[row][0]) } else { None });
        format!("{table}\n\n{}", summary(findings))
    })
}

/// The header, and two lines for each finding that needs something to be done. Of project planes those that
/// are in order are one line for each check, unless all are asked for.
fn rows(findings: &[Finding], wide: bool) -> Vec<Vec<String>> {
    let mut rows = vec![["STATE", "PLANE", "CHECK", "FOUND"].map(str::to_owned).to_vec()];
    let many = |finding: &&Finding| !wide && finding.plane.part.is_project() && finding.state == State::Ok;
    let mut in_order: BTreeMap<(Part, CheckId), usize> = BTreeMap::new();
    for finding in findings.iter().filter(many) {
        *in_order.entry((finding.plane.part, finding.check)).or_default() += 1;
    }
    for finding in findings {
        let found = if many(&finding) {
            match in_order.remove(&(finding.plane.part, finding.check)) {
                None => continue,
                Some(1) => finding.found.clone(),
                Some(count) => {
                    let plane = format!("{count} planes");
                    rows.push(row(finding.state, &plane, finding.check, "in order"));
                    continue;
                }
            }
        } else {
            finding.found.clone()
        };
        rows.push(row(finding.state, &shown(finding), finding.check, &found));
        if !finding.remedy.is_empty() {
            rows.push(vec![" ".to_owned(), " ".to_owned(), " ".to_owned(), format!("-> {}", finding.remedy)]);
        }
    }
    rows
}

fn row(state: State, plane: &str, check: CheckId, found: &str) -> Vec<String> {
    vec![state.id().to_owned(), plane.to_owned(), check.id().to_owned(), found.to_owned()]
}

fn shown(finding: &Finding) -> String {
    match finding.plane.part {
        Part::QuotaProject => format!("{} (quota)", finding.plane.name),
        _ => finding.plane.name.clone(),
    }
}

/// The colour of a cell of the first column, which has a state, the header, or nothing.
fn colour(cell: &str) -> Option<Colour> {
    match State::VARIANTS.iter().find(|state| state.id() == cell)? {
        State::Ok => Some(Colour::Green),
        State::Warning => Some(Colour::Yellow),
        State::Failed => Some(Colour::Red),
        State::Skipped => None,
    }
}

fn count(findings: &[Finding], state: State) -> usize {
    findings.iter().filter(|finding| finding.state == state).count()
}

fn summary(findings: &[Finding]) -> String {
    let parts = State::VARIANTS.iter().map(|state| format!("{} {}", count(findings, *state), state.id()));
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns the findings as JSON. The names are documented in `docs/reference/cli.md`.
fn json(findings: &[Finding]) -> Value {
    let finding = |finding: &Finding| {
        json!({
            "check": finding.check.id(),
            "plane": finding.plane.name,
            "part": finding.plane.part.id(),
            "state": finding.state.id(),
            "found": finding.found,
            "remedy": finding.remedy,
        })
    };
    let counts: serde_json::Map<String, Value> = State::VARIANTS
        .iter()
        .map(|state| (state.id().to_owned(), Value::from(count(findings, *state))))
        .collect();
    json!({ "checks": findings.iter().map(finding).collect::<Vec<_>>(), "summary": counts })
}

#[cfg(test)]
mod tests {
    use fedhub_testing::{Messages, assert_messages};

    use super::super::finding::PlaneName;
    use super::*;

    #[test]
    fn u4_the_report_of_check_reads_well() {
        let (hub, management) = (PlaneName::of(Part::Hub), PlaneName::of(Part::Management));
        let project = |name: &str| PlaneName::project(Part::Project, name);
        let findings = [
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
        ];
        let formats = [("table", Format::Table), ("wide", Format::Wide), ("json", Format::Json)];
        let printed = formats.map(|(label, format)| (label, print(&findings, format, false)));
        let mut messages = Messages::default();
        messages.section("fedhub check", printed);
        assert_messages!("check", messages);
        let coloured = print(&findings, Format::Table, true);
        assert_eq!(coloured.matches("\u{1b}[31mfailed\u{1b}[0m ").count(), 1, "{coloured}");
        assert_eq!(coloured.matches("\u{1b}[3").count(), 6, "{coloured}");
    }
}
