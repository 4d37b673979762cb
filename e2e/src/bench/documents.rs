//! The documents that show figures: their tables are written from the reports in `docs/benchmarks`, between
//! markers.

use std::fs;
use std::path::Path;

use jiff::civil::Date;

use super::report::{self, Report};
use super::table::{self, Now};
use crate::Error;

/// Where the reports are that the documents show.
pub const REPORTS: &str = "docs/benchmarks";
/// The version that figures are compared with.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The line before what is written, with the day on which its figures were last looked at.
const BEGIN: &str = "<!-- Written by `fedhub-bench table`, as of ";
const BEGIN_END: &str = ". -->";
/// The line after it.
const END: &str = "<!-- The end of what `fedhub-bench table` writes. -->";
/// The figures of the README.
const README: [(&str, &[&str]); 6] = [
    ("throughput", &["pace"]),
    ("latency", &["p50", "p99"]),
    ("memory", &["in memory"]),
    ("requests", &["for a WD", "for a status change: writes", "for a status change: reads", "for a no-op"]),
    ("failover", &["SIGTERM", "SIGKILL"]),
    ("rollout", &["an Instance", "an Instance with quota and networking"]),
];
/// The documents.
const DOCUMENTS: [&str; 2] = ["README.md", "docs/benchmarks.md"];

/// Takes the reports of a run over into the repository, without their details.
pub fn adopt(repository: &Path, directory: &Path) -> Result<(), Error> {
    for report in report::load(directory)? {
        Report { details: serde_json::Value::Null, ..report }.save(&repository.join(REPORTS))?;
    }
    Ok(())
}

/// Brings the documents up to date. Returns those that changed.
pub fn write(repository: &Path, today: Date) -> Result<Vec<&'static str>, Error> {
    let outdated = outdated(repository, |_| today)?;
    for (name, text) in &outdated {
        let path = repository.join(name);
        fs::write(&path, text).map_err(Error::file("write", path))?;
    }
    Ok(outdated.into_iter().map(|(name, _)| name).collect())
}

/// Fails if a document is not what [`write()`] would leave.
pub fn check(repository: &Path, today: Date) -> Result<(), Error> {
    consistent(outdated(repository, |_| today)?)
}

fn consistent(outdated: Vec<(&'static str, String)>) -> Result<(), Error> {
    if outdated.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = outdated.into_iter().map(|(name, _)| name).collect();
    let names = names.join(" and ");
    Err(Error::Benchmark(format!(
        "{names}: the figures differ from {REPORTS}; write them with `fedhub-bench table`"
    )))
}

/// The documents that have to change, as they have to be. `day` gets the day that a document names and
/// returns the one on which it is looked at.
fn outdated(repository: &Path, day: impl Fn(Date) -> Date) -> Result<Vec<(&'static str, String)>, Error> {
    let reports = report::load(&repository.join(REPORTS))?;
    let mut outdated = Vec::new();
    for name in DOCUMENTS {
        let path = repository.join(name);
        let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
        let block = Block::find(&text).ok_or_else(|| Error::Manifest {
            path,
            problem: format!("no lines `{BEGIN}YYYY-MM-DD{BEGIN_END}` and `{END}`"),
        })?;
        let now = Now { today: day(block.day), version: VERSION };
        let content = if name == "README.md" {
            table::whole(&table::extract(&reports, &README)?, now)
        } else {
            table::whole(&reports, now)
        };
        outdated.extend(block.replaced(&content, now.today).map(|text| (name, text)));
    }
    Ok(outdated)
}

/// A document that is written in part.
struct Block<'a> {
    before: &'a str,
    day: Date,
    content: &'a str,
    after: &'a str,
}

impl<'a> Block<'a> {
    fn find(text: &'a str) -> Option<Self> {
        let (before, rest) = text.split_once(BEGIN)?;
        let (day, rest) = rest.split_once(BEGIN_END)?;
        let (content, after) = rest.split_once(END)?;
        Some(Self { before, day: day.parse().ok()?, content: content.trim_matches('\n'), after })
    }

    /// The document with another content, if it is another one. The day alone changes nothing.
    fn replaced(&self, content: &str, day: Date) -> Option<String> {
        let Self { before, after, .. } = self;
        (self.content != content)
            .then(|| format!("{before}{BEGIN}{day}{BEGIN_END}\n\n{content}\n\n{END}{after}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::figure::Figure;
    use super::super::judge::Bar;
    use super::super::report::tests::report;
    use super::*;

    /// By the day that each document names, so that time alone does not fail the test: `fedhub-bench table
    /// --check` goes by the clock.
    #[test]
    fn the_documents_are_what_table_writes() {
        consistent(outdated(&crate::repository(), |day| day).unwrap()).unwrap();
    }

    #[test]
    fn every_benchmark_has_a_report() {
        let names: Vec<_> = super::super::names().collect();
        let reports = report::load(&crate::repository().join(REPORTS)).unwrap();
        let reported: Vec<_> = reports.iter().map(|report| report.name.as_str()).collect();
        assert_eq!(reported, names);
        for report in reports {
            assert!(
                !report.figures.iter().any(|figure| {
                    report
                        .figures
                        .iter()
                        .filter(|other| (&other.what, &other.unit) == (&figure.what, &figure.unit))
                        .count()
                        > 1
                }),
                "{}: two figures of one name",
                report.name
            );
        }
    }

    fn repository() -> tempfile::TempDir {
        let scratch = tempfile::tempdir().unwrap();
        let marked = format!("Mine.\n\n{BEGIN}2026-01-01{BEGIN_END}\n{END}\n\nAlso mine.\n");
        fs::create_dir_all(scratch.path().join("docs")).unwrap();
        for name in DOCUMENTS {
            fs::write(scratch.path().join(name), &marked).unwrap();
        }
        let measured = scratch.path().join("target");
        for (name, whats) in README {
            let figures: Vec<_> =
                whats.iter().map(|what| Figure::exact(what, "MB", 7.0).exactly(Bar::at_most(8.0))).collect();
            report(name, &figures).save(&measured).unwrap();
        }
        adopt(scratch.path(), &measured).unwrap();
        scratch
    }

    #[test]
    fn documents_are_written_between_their_markers_and_checked() {
        let scratch = repository();
        let today: Date = "2026-02-01".parse().unwrap();
        let check = |day: Date| check(scratch.path(), day);
        assert!(check(today).unwrap_err().to_string().contains("README.md and docs/benchmarks.md"));
        assert_eq!(write(scratch.path(), today).unwrap(), DOCUMENTS);
        check(today).unwrap();
        for name in DOCUMENTS {
            let text = fs::read_to_string(scratch.path().join(name)).unwrap();
            assert!(text.starts_with("Mine.\n\n") && text.ends_with("\n\nAlso mine.\n"), "{text}");
            assert!(text.contains("as of 2026-02-01") && text.contains("7 MB"), "{text}");
        }
        // Another day changes nothing until the figures are stale.
        let later: Date = "2026-03-01".parse().unwrap();
        assert!(write(scratch.path(), later).unwrap().is_empty());
        let stale: Date = "2026-05-01".parse().unwrap();
        check(stale).unwrap_err();
        assert_eq!(write(scratch.path(), stale).unwrap(), DOCUMENTS);
        assert!(fs::read_to_string(scratch.path().join("README.md")).unwrap().contains("**stale**"));
        check(later).unwrap_err();
    }

    #[test]
    fn another_figure_or_a_lost_marker_fails_the_check() {
        let scratch = repository();
        let today: Date = "2026-02-01".parse().unwrap();
        write(scratch.path(), today).unwrap();
        let path = scratch.path().join("README.md");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("7 MB", "6 MB", 1)).unwrap();
        let error = check(scratch.path(), today).unwrap_err().to_string();
        assert!(error.contains("README.md") && !error.contains("benchmarks.md"), "{error}");
        fs::write(&path, text.replace(END, "")).unwrap();
        assert!(check(scratch.path(), today).unwrap_err().to_string().contains(END));
        fs::write(&path, &text).unwrap();
        let other = report("memory", &[Figure::exact("in memory", "MB", 9.0)]);
        other.save(&scratch.path().join(REPORTS)).unwrap();
        check(scratch.path(), today).unwrap_err();
    }
}
