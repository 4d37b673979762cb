//! The report of `fedhub uninstall`. Pure.

use serde_json::{Value, json};

use crate::operator::fleet::Unread;
use fedhub_terminal::output::Colour;
use fedhub_terminal::plain;
use fedhub_terminal::report::{Field, Look, Report, Row, list_of, table_of};

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
        Self { plane: unread.plane.clone(), problem: Some(unread.problem.to_string()), ..Self::default() }
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
pub struct Uninstalled(Vec<Line>);

impl Uninstalled {
    /// Creates the report on these planes, sorted by name.
    pub fn from_lines(mut lines: Vec<Line>) -> Self {
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
}

impl Row for Line {
    const FIELDS: &'static [Field<Self>] = &[
        Field::new("plane", "PLANE", |line| json!(line.plane)),
        Field::named("objects", |line| list_of(&line.entries)),
        Field::column("TO DO", |line| json!(line.count(|it| *it == Outcome::Planned))),
        Field::column("DONE", |line| json!(line.count(|it| matches!(it, Outcome::Done | Outcome::Gone)))),
        Field::column("LEFT", |line| json!(line.count(|it| matches!(it, Outcome::Left(_))))),
        Field::column("FAILED", |line| json!(line.count(|it| matches!(it, Outcome::Failed(_))))),
        Field::new("problem", "PROBLEM", |line: &Self| json!(line.problem))
            .painted(|line| line.problem.as_ref().map(|_| Colour::Red)),
    ];
}

impl Row for Entry {
    const FIELDS: &'static [Field<Self>] = &[
        Field::named("kind", |entry| json!(entry.kind)),
        Field::named("namespace", |entry| json!(entry.namespace)),
        Field::named("name", |entry| json!(entry.name)),
        Field::named("result", |entry| json!(entry.outcome.id())),
        Field::named("reason", |entry| json!(entry.outcome.reason())),
    ];
}

impl Report for Uninstalled {
    /// The table, and below it what remains, each object; with `-o wide` also what is done.
    fn text(&self, look: Look) -> String {
        let named = self.0.iter().flat_map(|line| {
            let entries = line.entries.iter().filter(|it| look.wide || !it.is_done());
            entries.map(|entry| {
                let reason = entry.outcome.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
                let line = format!("{}: {}: {}{reason}", entry.outcome.id(), line.plane, entry.words());
                plain(&line).into_owned()
            })
        });
        std::iter::once(table_of(&self.0, look)).chain(named).collect::<Vec<_>>().join("\n")
    }

    fn json(&self) -> Value {
        json!({ "clean": self.is_clean(), "planes": list_of(&self.0) })
    }
}
