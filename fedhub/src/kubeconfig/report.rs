//! The report of `fedhub kubeconfig`: a line for each Secret. It never has a token. Pure.

use fedhub_core::clock::stamp;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::purpose::{Account, Purpose};
use fedhub_terminal::output::Colour;
use fedhub_terminal::report::{Field, Look, Report, Row, list_of, table_of};

/// What became of a kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its Secret was created.
    Created,
    /// The kubeconfig in its Secret was replaced.
    Replaced,
    /// More than a third of the life of its token remains.
    Kept,
    /// Its Secret would be created, with `--dry-run`.
    WouldCreate,
    /// The kubeconfig in its Secret would be replaced, with `--dry-run`.
    WouldReplace,
    /// Nothing was written, for this reason.
    Failed(String),
}

impl Outcome {
    fn id(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Replaced => "replaced",
            Self::Kept => "kept",
            Self::WouldCreate => "would-create",
            Self::WouldReplace => "would-replace",
            Self::Failed(_) => "failed",
        }
    }
}

/// A kubeconfig, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it is for.
    pub purpose: Purpose,
    /// The name of the project plane, else the part that it is a kubeconfig of.
    pub plane: String,
    /// Its Secret, as `NAMESPACE/NAME`.
    pub secret: String,
    /// The `ServiceAccount` that it acts as, where that is known.
    pub account: Option<Account>,
    /// Its server, where that is known.
    pub server: String,
    /// When its token ends, where that is known.
    pub expires: Option<Timestamp>,
    /// What became of it.
    pub outcome: Outcome,
    /// What the operator should know besides.
    pub warning: Option<String>,
}

/// All kubeconfigs, by plane.
#[derive(Debug)]
pub struct Kubeconfigs(Vec<Line>);

impl Kubeconfigs {
    /// Creates the report of these lines, sorted by plane and Secret.
    pub fn from_lines(mut lines: Vec<Line>) -> Self {
        lines.sort_by(|a, b| (&a.plane, &a.secret).cmp(&(&b.plane, &b.secret)));
        Self(lines)
    }

    /// Whether nothing failed.
    pub fn is_in_order(&self) -> bool {
        !self.0.iter().any(|line| matches!(line.outcome, Outcome::Failed(_)))
    }
}

impl Line {
    fn error(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Failed(error) => Some(error),
            _ => None,
        }
    }

    fn result(&self) -> String {
        let id = self.outcome.id();
        match self.error().or(self.warning.as_deref()) {
            Some(text) => format!("{id}: {text}"),
            None => id.to_owned(),
        }
    }

    fn colour(&self) -> Option<Colour> {
        let warning = self.warning.as_ref().map(|_| Colour::Yellow);
        self.error().map(|_| Colour::Red).or(warning)
    }
}

impl Row for Line {
    const FIELDS: &'static [Field<Self>] = &[
        Field::new("plane", "PLANE", |line| json!(line.plane)),
        Field::new("secret", "SECRET", |line| json!(line.secret)),
        Field::new("serviceAccount", "SERVICE ACCOUNT", |line| {
            json!(line.account.as_ref().map(Account::to_string))
        }),
        Field::new("expires", "EXPIRES", |line| json!(line.expires.map(stamp))),
        Field::new("for", "FOR", |line: &Self| json!(line.purpose.to_string())).wide(),
        Field::new("server", "SERVER", |line: &Self| json!(line.server)).wide(),
        Field::named("result", |line| json!(line.outcome.id())),
        Field::named("error", |line| json!(line.error())),
        Field::named("warning", |line| json!(line.warning)),
        Field::column("RESULT", |line: &Self| json!(line.result())).painted(Self::colour),
    ];
}

impl Report for Kubeconfigs {
    fn text(&self, look: Look) -> String {
        table_of(&self.0, look)
    }

    fn json(&self) -> Value {
        json!({ "kubeconfigs": list_of(&self.0) })
    }
}
