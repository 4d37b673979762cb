//! The result of a benchmark, and tables of results.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Error;

/// The outcome of one benchmark: one line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The benchmark.
    pub name: String,
    /// What was measured.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// What it is to be.
    pub bar: String,
    /// Whether it is.
    pub pass: bool,
    /// What it was made from.
    pub details: Value,
}

/// One thing that a benchmark asks for.
#[derive(Debug, Clone)]
pub struct Claim {
    /// In words, with the bar.
    pub bar: String,
    /// Whether it holds.
    pub holds: bool,
}

impl Claim {
    /// `value` is at least `bar`. What is not a number holds nothing.
    pub fn at_least(what: &str, value: f64, bar: f64) -> Self {
        Self { bar: phrase(what, "at least", bar), holds: value >= bar }
    }

    /// `value` is at most `bar`.
    pub fn at_most(what: &str, value: f64, bar: f64) -> Self {
        Self { bar: phrase(what, "at most", bar), holds: value <= bar }
    }
}

/// What a benchmark that runs on real planes and in memory found on one of them.
#[derive(Debug, Clone)]
pub struct Part {
    /// What was measured.
    pub value: f64,
    /// What it is to be.
    pub claims: Vec<Claim>,
    /// What it was made from.
    pub details: Value,
}

fn phrase(what: &str, relation: &str, bar: f64) -> String {
    if what.is_empty() { format!("{relation} {bar}") } else { format!("{what} {relation} {bar}") }
}

impl Report {
    /// A report on these claims: it passes where all of them hold.
    pub fn on(name: &str, value: f64, unit: &str, claims: &[Claim], details: Value) -> Self {
        let bars: Vec<_> = claims.iter().map(|claim| claim.bar.as_str()).collect();
        Self {
            name: name.to_owned(),
            value: super::stats::rounded(value, 4),
            unit: unit.to_owned(),
            bar: bars.join("; "),
            pass: claims.iter().all(|claim| claim.holds),
            details,
        }
    }

    /// A report on what was found in memory and on real planes; the first is what the table shows.
    pub fn of(name: &str, unit: &str, fake: Part, real: Part) -> Self {
        let claims: Vec<_> = fake.claims.into_iter().chain(real.claims).collect();
        let details = json!({ "fake": fake.details, "real": real.details });
        Self::on(name, fake.value, unit, &claims, details)
    }

    /// Notes where, when and how it was measured.
    #[must_use]
    pub fn measured(mut self, machine: &str, date: &str, scale: f64, repetitions: usize) -> Self {
        self.details["measured"] =
            json!({ "machine": machine, "date": date, "scale": scale, "repetitions": repetitions });
        self
    }

    /// As one line of JSON.
    pub fn line(&self) -> Result<String, Error> {
        serde_json::to_string(self).map_err(|error| Error::Benchmark(format!("{}: {error}", self.name)))
    }

    /// Writes `<directory>/<name>.json`.
    pub fn save(&self, directory: &Path) -> Result<(), Error> {
        fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
        let path = directory.join(format!("{}.json", self.name));
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::Benchmark(format!("{}: {error}", self.name)))?;
        fs::write(&path, text + "\n").map_err(Error::file("write", path))
    }
}

/// The reports in a directory, in the order of the catalogue; unknown names last.
pub fn load(directory: &Path, order: &[&str]) -> Result<Vec<Report>, Error> {
    let mut reports = Vec::new();
    for entry in fs::read_dir(directory).map_err(Error::file("read", directory))? {
        let path: PathBuf = entry.map_err(Error::file("read", directory))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = fs::read(&path).map_err(Error::file("read", &path))?;
            let report: Report = serde_json::from_slice(&text)
                .map_err(|error| Error::Manifest { path, problem: error.to_string() })?;
            reports.push(report);
        }
    }
    let place = |name: &str| order.iter().position(|known| *known == name).unwrap_or(order.len());
    reports.sort_by(|a, b| place(&a.name).cmp(&place(&b.name)).then_with(|| a.name.cmp(&b.name)));
    Ok(reports)
}

/// A Markdown table, which terminals show well enough too.
pub fn table(reports: &[Report]) -> String {
    let mut rows = vec![["benchmark", "measured", "bar", ""].map(str::to_owned)];
    rows.extend(reports.iter().map(|report| {
        let verdict = if report.pass { "met" } else { "**missed**" };
        [
            format!("`{}`", report.name),
            format!("{} {}", report.value, report.unit).trim_end().to_owned(),
            report.bar.clone(),
            verdict.to_owned(),
        ]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths = [0, 1, 2, 3].map(width);
    let line = |row: &[String; 4]| {
        let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("| {} |", cells.join(" | "))
    };
    let rule = format!("|{}|", widths.map(|width| "-".repeat(width + 2)).join("|"));
    let mut lines: Vec<_> = rows.iter().map(line).collect();
    lines.insert(1, rule);
    lines.join("\n")
}

/// A line for each way in which the reports were measured.
pub fn footnotes(reports: &[Report]) -> String {
    let mut notes: Vec<(String, Vec<&str>)> = Vec::new();
    for report in reports {
        let measured = &report.details["measured"];
        let part = if measured["scale"] == json!(1.0) {
            String::new()
        } else {
            format!(" at scale {}", measured["scale"])
        };
        let text = |field: &str| measured[field].as_str().unwrap_or("?").to_owned();
        let note = format!("Measured on {} on {}{part}", text("date"), text("machine"));
        match notes.iter_mut().find(|(known, _)| *known == note) {
            Some((_, names)) => names.push(&report.name),
            None => notes.push((note, vec![&report.name])),
        }
    }
    let whole = notes.len() == 1;
    let line = |(note, names): &(String, Vec<&str>)| {
        if whole { format!("{note}.") } else { format!("{note}: {}.", names.join(", ")) }
    };
    notes.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(name: &str, claims: &[Claim]) -> Report {
        Report::on(name, 0.876_543, "of the bare client", claims, json!({ "laps": [1, 2] }))
    }

    #[test]
    fn a_report_passes_where_all_claims_hold() {
        for (claims, passes) in [
            (vec![], true),
            (vec![Claim::at_least("", 0.8, 0.8)], true),
            (vec![Claim::at_least("", 0.79, 0.8)], false),
            (vec![Claim::at_most("writes", 0.0, 0.0), Claim::at_most("p99", 3.1, 3.0)], false),
            (vec![Claim::at_most("p99", f64::NAN, 3.0)], false),
            (vec![Claim::at_least("", f64::NAN, 0.8)], false),
        ] {
            assert_eq!(report("x", &claims).pass, passes, "{claims:?}");
        }
        let said = report("x", &[Claim::at_most("p50", 1.0, 2.0), Claim::at_least("", 1.0, 0.5)]);
        assert_eq!((said.bar.as_str(), said.value), ("p50 at most 2; at least 0.5", 0.8765));
    }

    #[test]
    fn what_is_written_is_read_in_the_order_of_the_catalogue() {
        let scratch = tempfile::tempdir().unwrap();
        let reports = ["zeta", "idle", "throughput"].map(|name| report(name, &[]));
        for report in &reports {
            report.save(scratch.path()).unwrap();
        }
        fs::write(scratch.path().join("notes.txt"), "mine").unwrap();
        let loaded = load(scratch.path(), &["throughput", "idle"]).unwrap();
        let names: Vec<_> = loaded.iter().map(|report| report.name.as_str()).collect();
        assert_eq!(names, ["throughput", "idle", "zeta"]);
        assert_eq!(loaded[2], reports[0]);
        assert!(!report("x", &[]).line().unwrap().contains('\n'));
    }

    #[test]
    fn footnotes_tell_what_was_measured_otherwise() {
        let one = report("a", &[]).measured("a machine", "2026-01-02", 1.0, 3);
        let same = report("b", &[]).measured("a machine", "2026-01-02", 1.0, 3);
        let quick = report("c", &[]).measured("a machine", "2026-01-02", 0.1, 3);
        assert_eq!(footnotes(&[one.clone(), same.clone()]), "Measured on 2026-01-02 on a machine.");
        let notes = footnotes(&[one, same, quick]);
        let expected = "Measured on 2026-01-02 on a machine: a, b.\nMeasured on 2026-01-02 on a machine at scale 0.1: c.";
        assert_eq!(notes, expected);
    }

    #[test]
    fn a_table_has_a_row_for_each_and_shows_what_missed() {
        let missed = report("b", &[Claim::at_least("", 0.1, 0.8)]);
        let table = table(&[report("a", &[]), missed]);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.chars().count() == lines[0].chars().count()), "{table}");
        assert!(
            lines[2].contains("met") && lines[3].contains("**missed**") && lines[3].contains("at least 0.8")
        );
    }
}
