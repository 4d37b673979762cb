//! The report of `fedhub uninstall`. Pure.

use serde_json::{Value, json};

use crate::operator::fleet::Unread;
use fedhub_terminal::output::{Colour, Format, structured};
use fedhub_terminal::plain;
use fedhub_terminal::table::painted;

/// What became of an object, or would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The finalizer would be removed, or the object deleted, with `--plan`.
    Planned,
    /// The finalizer was removed, or the object deleted.
    Done,
    /// It was gone already.
    Gone,
    /// It stays as it is, for this reason.
    Left(String),
    /// A request failed.
    Failed(String),
}

impl Outcome {
    fn id(&self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Done => "done",
            Self::Gone => "gone",
            Self::Left(_) => "left",
            Self::Failed(_) => "failed",
        }
    }

    fn reason(&self) -> Option<&str> {
        match self {
            Self::Left(reason) | Self::Failed(reason) => Some(reason),
            Self::Planned | Self::Done | Self::Gone => None,
        }
    }
}

/// An object, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
}

impl Entry {
    /// Whether it is done with.
    pub fn is_done(&self) -> bool {
        self.outcome.reason().is_none()
    }

    fn words(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// A plane, and what became of its objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The project plane, `cell NAME`, or `hub`.
    pub plane: String,
    /// Its objects.
    pub entries: Vec<Entry>,
    /// Why it could not be read, or done.
    pub problem: Option<String>,
}

impl Line {
    /// A line for a plane that could not be read.
    pub fn unread(unread: &Unread) -> Self {
        let problem = Some(format!("{}: {}", unread.cause.id(), unread.message));
        Self { plane: unread.plane.clone(), entries: Vec::new(), problem }
    }

    /// Adds a problem to those that are known.
    pub fn problem(&mut self, problem: String) {
        self.problem = Some(match self.problem.take() {
            Some(first) => format!("{first}; {problem}"),
            None => problem,
        });
    }

    fn count(&self, is: impl Fn(&Outcome) -> bool) -> usize {
        self.entries.iter().filter(|entry| is(&entry.outcome)).count()
    }

    /// Whether nothing of fedhub's remains there, or would.
    fn is_clean(&self) -> bool {
        self.problem.is_none() && self.entries.iter().all(Entry::is_done)
    }
}

/// All planes, by name.
#[derive(Clone, Debug)]
pub struct Report(Vec<Line>);

impl Report {
    /// Builds the report from the lines of all planes.
    pub fn of(mut lines: Vec<Line>) -> Self {
        lines.sort_by(|a, b| a.plane.cmp(&b.plane));
        for line in &mut lines {
            line.entries
                .sort_by(|a, b| (&a.kind, &a.namespace, &a.name).cmp(&(&b.kind, &b.namespace, &b.name)));
        }
        Self(lines)
    }

    /// Whether nothing remains, or would.
    pub fn is_clean(&self) -> bool {
        self.0.iter().all(Line::is_clean)
    }

    /// How many objects are to be written.
    pub fn planned(&self) -> usize {
        self.0.iter().map(|line| line.count(|it| *it == Outcome::Planned)).sum()
    }

    /// The output in a format.
    pub fn print(&self, format: Format, colours: bool) -> String {
        structured(format, &self.json()).unwrap_or_else(|| self.table(format == Format::Wide, colours))
    }

    fn table(&self, wide: bool, colours: bool) -> String {
        let header = ["PLANE", "TO DO", "DONE", "LEFT", "FAILED", "PROBLEM"].map(str::to_owned).to_vec();
        let last = header.len() - 1;
        let row = |line: &Line| {
            let number = |count: usize| count.to_string();
            vec![
                line.plane.clone(),
                number(line.count(|it| *it == Outcome::Planned)),
                number(line.count(|it| matches!(it, Outcome::Done | Outcome::Gone))),
                number(line.count(|it| matches!(it, Outcome::Left(_)))),
                number(line.count(|it| matches!(it, Outcome::Failed(_)))),
                line.problem.clone().unwrap_or_default(),
            ]
        };
        let rows: Vec<Vec<String>> = std::iter::once(header).chain(self.0.iter().map(row)).collect();
        let mut text = vec![painted(&rows, |row, column| {
            let line = self.0.get(row.checked_sub(1)?)?;
            (colours && column == last && line.problem.is_some()).then_some(Colour::Red)
        })];
        // What remains is named each; what is done, where it is asked for.
        for line in &self.0 {
            for entry in line.entries.iter().filter(|it| wide || !it.is_done()) {
                let reason = entry.outcome.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
                let line = format!("{}: {}: {}{reason}", entry.outcome.id(), line.plane, entry.words());
                text.push(plain(&line).into_owned());
            }
        }
        text.join("\n")
    }

    /// Returns the report as JSON.
    fn json(&self) -> Value {
        let entry = |entry: &Entry| {
            json!({
                "kind": entry.kind, "namespace": entry.namespace, "name": entry.name,
                "result": entry.outcome.id(), "reason": entry.outcome.reason(),
            })
        };
        let plane = |line: &Line| {
            let objects: Vec<Value> = line.entries.iter().map(entry).collect();
            json!({"plane": line.plane, "objects": objects, "problem": line.problem})
        };
        json!({ "clean": self.is_clean(), "planes": self.0.iter().map(plane).collect::<Vec<_>>() })
    }
}
