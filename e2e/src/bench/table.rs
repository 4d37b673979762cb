//! Tables of reports, in Markdown.

use jiff::civil::Date;

use super::figure::{Figure, short};
use super::report::{Measured, Report};
use crate::Error;

/// How old a figure may get, in days.
const FRESH_DAYS: i32 = 90;

/// What reports are compared with: whether their figures still say something.
#[derive(Debug, Clone, Copy)]
pub struct Now<'a> {
    /// The day.
    pub today: Date,
    /// The version of fedhub.
    pub version: &'a str,
}

impl Now<'_> {
    /// Why figures that were measured so say little by now, if that is the case.
    pub fn stale(&self, measured: &Measured) -> Option<String> {
        if minor(&measured.version) != minor(self.version) {
            return Some(format!("fedhub is {} now", self.version));
        }
        let days = (self.today - measured.date).get_days();
        (days > FRESH_DAYS).then(|| format!("more than {FRESH_DAYS} days old"))
    }
}

/// The major and the minor version.
fn minor(version: &str) -> Vec<&str> {
    version.split('.').take(2).collect()
}

/// A row for each figure, then a line for each way in which they were measured, then the notes.
pub fn whole(reports: &[Report], now: Now<'_>) -> String {
    let mut lines = ["| benchmark | figure | measured | bar | verdict |", "|---|---|---|---|---|"]
        .map(str::to_owned)
        .to_vec();
    for report in reports {
        for (at, figure) in report.figures.iter().enumerate() {
            let row = [
                if at == 0 { title(report, now) } else { String::new() },
                figure.what.clone(),
                measured(figure),
                figure.bar.map(|bar| bar.to_string()).unwrap_or_default(),
                verdict(figure),
            ];
            lines.push(format!("| {} |", row.join(" | ")));
        }
    }
    lines.push(String::new());
    lines.extend(conditions(reports, now));
    let noted: Vec<_> = reports.iter().filter(|report| !report.note.is_empty()).collect();
    if !noted.is_empty() {
        lines.push(String::new());
        lines.extend(noted.into_iter().map(|report| format!("- `{}`: {}", report.name, report.note)));
    }
    lines.join("\n")
}

/// The reports of these benchmarks, each with its figures of these names alone.
pub fn extract(reports: &[Report], wanted: &[(&str, &[&str])]) -> Result<Vec<Report>, Error> {
    let mut extract = Vec::new();
    for (name, whats) in wanted {
        let missing = |what: &str| Error::Benchmark(format!("no figure `{what}` of the benchmark {name}"));
        let report = reports.iter().find(|report| report.name == *name).ok_or_else(|| missing(""))?;
        let mut figures = Vec::new();
        for what in *whats {
            let figure = report.figures.iter().find(|figure| figure.what == *what);
            figures.push(figure.ok_or_else(|| missing(what))?.clone());
        }
        extract.push(Report { figures, note: String::new(), ..report.clone() });
    }
    Ok(extract)
}

fn title(report: &Report, now: Now<'_>) -> String {
    let quick = if report.measured.quick { " (quick)" } else { "" };
    let stale = if now.stale(&report.measured).is_some() { " **stale**" } else { "" };
    format!("`{}`{quick}{stale}", report.name)
}

fn measured(figure: &Figure) -> String {
    let interval = figure.interval.map(|[low, high]| format!(" ({} to {})", short(low), short(high)));
    let laps: Vec<_> = figure.laps.iter().map(|lap| short(*lap)).collect();
    let laps = (laps.len() > 1).then(|| format!("; laps {}", laps.join(", ")));
    [Some(figure.amount()), interval, laps].into_iter().flatten().collect()
}

/// The verdict. Laps from before verdicts were given have none, and no interval either.
fn verdict(figure: &Figure) -> String {
    match (figure.verdict, figure.bar) {
        (Some(verdict), _) => verdict.to_string(),
        (None, Some(bar)) if bar.is_met(figure.value) => "met, without an interval".to_owned(),
        (None, Some(_)) => "not met, without an interval".to_owned(),
        (None, None) => String::new(),
    }
}

/// A line for each way in which the reports were measured, with their names.
fn conditions(reports: &[Report], now: Now<'_>) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for report in reports {
        let condition = condition(report, now);
        let name = format!("`{}`", report.name);
        match groups.iter_mut().find(|(known, _)| *known == condition) {
            Some((_, names)) => names.push(name),
            None => groups.push((condition, vec![name])),
        }
    }
    groups.into_iter().map(|(condition, names)| format!("- {condition}: {}", names.join(", "))).collect()
}

fn condition(report: &Report, now: Now<'_>) -> String {
    let measured = &report.measured;
    let Measured { date, command, machine, version, revision, scale, .. } = measured;
    // Benchmarks that were run one by one share a line.
    let command = command.replacen(&format!("fedhub-bench {}", report.name), "fedhub-bench NAME", 1);
    let revision = revision
        .as_ref()
        .map_or("of a revision that was not recorded".to_owned(), |revision| format!("revision {revision}"));
    let mut parts = vec![
        date.to_string(),
        format!("`{command}`"),
        format!("fedhub {version} {revision}"),
        machine.clone(),
    ];
    if measured.quick {
        parts.push("a quick run with few laps".to_owned());
    }
    #[allow(clippy::float_cmp, reason = "1 is exact")]
    if *scale != 1.0 {
        parts.push(format!("{scale} of the usual objects"));
    }
    parts.extend(now.stale(measured).map(|why| format!("**stale** ({why})")));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::judge::Bar;
    use super::super::report::tests::report;
    use super::*;

    fn day(text: &str) -> Date {
        text.parse().unwrap()
    }

    fn now(today: &str) -> Now<'static> {
        Now { today: day(today), version: "0.1.7" }
    }

    #[test]
    fn figures_are_stale_after_ninety_days_or_with_another_minor_version() {
        for (version, today, stale) in [
            ("0.1.7", "2026-01-02", None),
            ("0.1.0", "2026-04-02", None),
            ("0.1.0", "2026-04-03", Some("more than 90 days old")),
            ("0.1.0-rc.1", "2025-12-31", None),
            ("0.2.0", "2026-01-02", Some("fedhub is 0.1.7 now")),
            ("1.1.0", "2026-01-02", Some("fedhub is 0.1.7 now")),
            ("0.10.0", "2026-01-02", Some("fedhub is 0.1.7 now")),
        ] {
            let measured = Measured { version: version.to_owned(), ..report("x", &[]).measured };
            assert_eq!(now(today).stale(&measured).as_deref(), stale, "{version} {today}");
        }
    }

    /// A figure as reports from before verdicts have it.
    fn unjudged(what: &str, bar: Bar) -> Figure {
        let mut figure = Figure::exact(what, "times", 1.24);
        figure.bar = Some(bar);
        figure
    }

    fn figures() -> Vec<Figure> {
        vec![
            Figure::ratio("pace", "of the bare client", &[1.0, 1.21]).within(Bar::at_least(0.9), 0.05),
            Figure::exact("", "series", 336.0).exactly(Bar::at_most(500.0)),
            unjudged("p50", Bar::at_most(2.0)),
            unjudged("p99", Bar::at_most(1.0)),
            Figure::exact("writes", "", 1.0).exactly(Bar::at_most(0.0)),
        ]
    }

    #[test]
    fn a_table_has_a_row_for_each_figure_with_its_verdict() {
        let mut one = report("one", &figures());
        one.note = "a note".to_owned();
        let table = whole(&[one, report("two", &figures()[1..2])], now("2026-01-02"));
        assert_eq!(
            table,
            "| benchmark | figure | measured | bar | verdict |\n\
             |---|---|---|---|---|\n\
             | `one` | pace | 1.10 of the bare client (0.60 to 2.01); laps 1.00, 1.21 | at least 0.9 | cannot tell here |\n\
             |  |  | 336 series | at most 500 | holds |\n\
             |  | p50 | 1.24 times | at most 2 | met, without an interval |\n\
             |  | p99 | 1.24 times | at most 1 | not met, without an interval |\n\
             |  | writes | 1 | at most 0 | **missed** |\n\
             | `two` |  | 336 series | at most 500 | holds |\n\n\
             - 2026-01-02, `make bench`, fedhub 0.1.0 revision abc, a machine: `one`, `two`\n\n\
             - `one`: a note"
        );
    }

    #[test]
    fn benchmarks_that_were_run_one_by_one_share_a_line() {
        let alone = |name: &str| {
            let mut report = report(name, &[]);
            report.measured.command = format!("fedhub-bench {name} --laps 5");
            report
        };
        let table = whole(&[alone("one"), alone("two")], now("2026-01-02"));
        let last = table.lines().last().unwrap();
        assert!(last.contains("`fedhub-bench NAME --laps 5`") && last.ends_with(": `one`, `two`"), "{table}");
    }

    #[test]
    fn what_was_measured_otherwise_or_long_ago_is_marked() {
        let mut quick = report("quick", &figures()[1..2]);
        quick.measured = Measured { quick: true, scale: 0.1, revision: None, ..quick.measured };
        let table = whole(&[quick, report("usual", &figures()[1..2])], now("2027-01-02"));
        let lines: Vec<_> = table.lines().collect();
        assert!(lines[2].starts_with("| `quick` (quick) **stale** |"), "{table}");
        assert!(lines[3].starts_with("| `usual` **stale** |"), "{table}");
        assert_eq!(
            lines[5],
            "- 2026-01-02, `make bench`, fedhub 0.1.0 of a revision that was not recorded, a machine, a quick run with \
             few laps, 0.1 of the usual objects, **stale** (more than 90 days old): `quick`"
        );
    }

    #[test]
    fn an_extract_has_the_figures_that_are_asked_for_or_fails() {
        let reports =
            ["one", "two"].map(|name| Report { note: "a note".to_owned(), ..report(name, &figures()) });
        let [both] = extract(&reports, &[("two", &["", "pace"])]).unwrap().try_into().unwrap();
        assert_eq!(both, report("two", &[figures()[1].clone(), figures()[0].clone()]));
        for (wanted, named) in [(("two", &["speed"]), "`speed`"), (("three", &[""]), "three")] {
            let (name, whats) = wanted;
            let error = extract(&reports, &[(name, whats)]).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
