//! The result of a benchmark, as a file of JSON.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::figure::Figure;
use super::judge::Verdict;
use crate::Error;

/// The outcome of one benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The benchmark.
    pub name: String,
    /// Where, when and how it was measured.
    pub measured: Measured,
    /// The figures; the first is the subject of the report.
    pub figures: Vec<Figure>,
    /// Notes for the reader, in Markdown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The data that the figures were computed from.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
}

/// The conditions of a benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The day.
    pub date: Date,
    /// The command that measured it.
    pub command: String,
    /// The machine, with the model of its processor.
    pub machine: String,
    /// The version of fedhub.
    pub version: String,
    /// The revision of the source, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Whether it was a quick run, with fewer objects and laps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// The part of the usual number of objects.
    pub scale: f64,
}

/// The findings of a benchmark, before it is known where and when.
#[derive(Debug)]
pub struct Findings {
    /// The figures.
    pub figures: Vec<Figure>,
    /// The data that they were computed from.
    pub details: Value,
}

impl Findings {
    /// Findings in memory and on real planes together.
    #[must_use]
    pub fn and(mut self, real: Self) -> Self {
        self.figures.extend(real.figures);
        Self { figures: self.figures, details: json!({ "fake": self.details, "real": real.details }) }
    }
}

impl Report {
    /// Whether a bar is missed. One of which the laps cannot tell is not.
    pub fn misses(&self) -> bool {
        self.figures.iter().any(|figure| figure.verdict == Some(Verdict::Missed))
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
pub fn load(directory: &Path) -> Result<Vec<Report>, Error> {
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
    let place = |name: &str| super::catalogue::names().position(|known| known == name).unwrap_or(usize::MAX);
    reports.sort_by(|a, b| place(&a.name).cmp(&place(&b.name)).then_with(|| a.name.cmp(&b.name)));
    Ok(reports)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::judge::Bar;
    use super::*;

    /// A report with these figures, measured on 2026-01-02.
    pub fn report(name: &str, figures: &[Figure]) -> Report {
        let measured = Measured {
            date: "2026-01-02".parse().unwrap(),
            command: "make bench".to_owned(),
            machine: "a machine".to_owned(),
            version: "0.1.0".to_owned(),
            revision: Some("abc".to_owned()),
            quick: false,
            scale: 1.0,
        };
        let details = json!({ "laps": [1, 2] });
        Report { name: name.to_owned(), measured, figures: figures.to_vec(), note: String::new(), details }
    }

    #[test]
    fn only_a_missed_bar_is_missed() {
        let exact = |value| Figure::exact("", "s", value).exactly(Bar::at_most(1.0));
        let sampled = |laps: &[f64]| Figure::ratio("", "times", laps).within(Bar::at_least(1.0), 0.05);
        for (figures, misses) in [
            (vec![], false),
            (vec![exact(1.0), sampled(&[1.1, 1.2, 1.15])], false),
            (vec![exact(1.0), exact(1.1)], true),
            (vec![exact(f64::NAN)], true),
            (vec![sampled(&[0.8, 0.81, 0.8])], true),
            (vec![sampled(&[0.8, 1.2, 0.9])], false),
        ] {
            assert_eq!(report("x", &figures).misses(), misses, "{figures:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_in_the_order_of_the_catalogue() {
        let scratch = tempfile::tempdir().unwrap();
        let figure = Figure::ratio("p99", "times", &[1.0, 1.2]).within(Bar::at_most(2.0), 0.05);
        let reports = ["zeta", "idle", "throughput"].map(|name| report(name, std::slice::from_ref(&figure)));
        for report in &reports {
            report.save(scratch.path()).unwrap();
        }
        fs::write(scratch.path().join("notes.txt"), "mine").unwrap();
        let loaded = load(scratch.path()).unwrap();
        let names: Vec<_> = loaded.iter().map(|report| report.name.as_str()).collect();
        assert_eq!(names, ["throughput", "idle", "zeta"]);
        assert_eq!(loaded[0].line().unwrap(), reports[2].line().unwrap());
        assert!(!loaded[0].line().unwrap().contains('\n'));
    }
}
