//! The output of chainsaw, line by line: which suite it is about, when that is through, and how it ended.

use std::collections::BTreeMap;
use std::time::Duration;

/// How a suite ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Result {
    /// The suite.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// How long it took.
    pub time: Duration,
}

/// Something that is worth a line of progress.
#[derive(Debug, PartialEq, Eq)]
pub enum News {
    /// A suite came to its end; how, chainsaw says only when all have.
    Through(String),
}

/// Reads chainsaw's output.
#[derive(Debug, Default)]
pub struct Reader {
    /// The suite that the lines are about.
    current: Option<String>,
    lines: BTreeMap<String, Vec<String>>,
    others: Vec<String>,
    results: Vec<Result>,
}

impl Reader {
    /// Takes in one line.
    pub fn line(&mut self, line: &str) -> Option<News> {
        if let Some(switch) = ["=== NAME  ", "=== CONT  ", "=== RUN   ", "=== PAUSE "]
            .iter()
            .find_map(|prefix| line.strip_prefix(prefix))
        {
            self.current = switch.trim().strip_prefix("chainsaw/").map(str::to_owned);
            return None;
        }
        if let Some(result) = result(line) {
            self.current = None;
            self.results.push(result);
            return None;
        }
        let line = clean(line);
        let Some(current) = &self.current else {
            self.others.push(line);
            return None;
        };
        let through = line.contains("| @chainsaw ") && line.contains("| CLEANUP ");
        self.lines.entry(current.clone()).or_default().push(line);
        through.then(|| News::Through(current.clone()))
    }

    /// How the suites ended that did.
    pub fn results(&self) -> &[Result] {
        &self.results
    }

    /// What was said about a suite.
    pub fn lines(&self, name: &str) -> &[String] {
        self.lines.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns at most `most` lines of a suite's output around its first failure; the last lines if no
    /// failure is marked.
    pub fn reason(&self, name: &str, most: usize) -> &[String] {
        let lines = self.lines(name);
        let begin = match lines.iter().position(|line| line.starts_with("| ") && line.contains(" | ERROR ")) {
            // What a command printed stands before its verdict, the verdict's words after.
            Some(verdict) => verdict.saturating_sub(most / 2),
            None => lines.len().saturating_sub(most),
        };
        &lines[begin..lines.len().min(begin + most)]
    }

    /// What was said about none: where chainsaw itself fails, the reason is here.
    pub fn others(&self) -> &[String] {
        &self.others
    }
}

/// Chainsaw prints through Go's testing package, which puts the place in its source before each line.
fn clean(line: &str) -> String {
    let line = line.replace('\u{8}', "");
    match line.trim_start().strip_prefix("sink.go:") {
        Some(rest) => rest.split_once(": ").map_or("", |(_, said)| said).to_owned(),
        None => line,
    }
}

/// `    --- PASS: chainsaw/name (1.04s)`
fn result(line: &str) -> Option<Result> {
    let (verdict, rest) = line.trim_start().strip_prefix("--- ")?.split_once(": chainsaw/")?;
    let (name, time) = rest.split_once(" (")?;
    let seconds = time.strip_suffix("s)")?.parse().ok()?;
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    Some(Result { name: name.to_owned(), passed: verdict == "PASS", time })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Loading tests...
=== RUN   chainsaw
=== RUN   chainsaw/one
=== PAUSE chainsaw/one
=== RUN   chainsaw/two
=== CONT  chainsaw/one
=== NAME  chainsaw/one
    sink.go:56: \u{8}| 10:07:41 | one | a         | CMD  | RUN  |
        === COMMAND
=== NAME  chainsaw/two
    sink.go:56: | 10:07:41 | two | b         | ASSERT | ERROR | v1/Namespace @ nope
        === ERROR
        actual resource not found
    sink.go:56: | 10:07:42 | two | @chainsaw | CLEANUP | SKIP |
=== NAME  chainsaw
    sink.go:56: | 10:07:42 | chainsaw | @chainsaw | CLEANUP | SKIP |
--- FAIL: chainsaw (0.00s)
    --- PASS: chainsaw/one (0.09s)
    --- FAIL: chainsaw/two (1.04s)
FAIL
Done with failures.";

    #[test]
    fn lines_are_told_apart_and_results_are_read() {
        let mut reader = Reader::default();
        let news: Vec<_> = SAID.lines().filter_map(|line| reader.line(line)).collect();
        assert_eq!(news, [News::Through("two".to_owned())]);
        let result = |name: &str, passed, millis| Result {
            name: name.to_owned(),
            passed,
            time: Duration::from_millis(millis),
        };
        assert_eq!(reader.results(), [result("one", true, 90), result("two", false, 1040)]);
        assert!(reader.lines("one")[0].starts_with("| 10:07:41 | one"));
        assert!(reader.lines("two").iter().any(|line| line.contains("actual resource not found")));
        assert!(reader.others().iter().any(|line| line == "Done with failures."));
    }

    #[test]
    fn the_reason_is_around_the_first_verdict_of_error() {
        let mut reader = Reader::default();
        SAID.lines().for_each(|line| drop(reader.line(line)));
        let reason = reader.reason("two", 3);
        assert!(
            reason[0].contains("| ERROR ") && reason[2].contains("actual resource not found"),
            "{reason:?}"
        );
        assert!(reader.reason("one", 1)[0].contains("=== COMMAND"), "nothing says so: the end");
        assert!(reader.reason("none", 3).is_empty());
    }
}
