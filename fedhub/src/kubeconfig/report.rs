//! The report of `fedhub kubeconfig`: a line for each Secret. It never has a token. Pure.

use fedhub_core::clock::stamp;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::purpose::{Account, Purpose};
use fedhub_terminal::output::{Colour, Format, structured};
use fedhub_terminal::table::painted;

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
pub struct Report(Vec<Line>);

impl Report {
    /// Builds the report from its lines.
    pub fn of(mut lines: Vec<Line>) -> Self {
        lines.sort_by(|a, b| (&a.plane, &a.secret).cmp(&(&b.plane, &b.secret)));
        Self(lines)
    }

    /// Whether nothing failed.
    pub fn is_in_order(&self) -> bool {
        !self.0.iter().any(|line| matches!(line.outcome, Outcome::Failed(_)))
    }

    /// The output in a format.
    pub fn print(&self, format: Format, colours: bool) -> String {
        structured(format, &self.json()).unwrap_or_else(|| self.table(format == Format::Wide, colours))
    }

    fn table(&self, wide: bool, colours: bool) -> String {
        let mut header = vec!["PLANE", "SECRET", "SERVICE ACCOUNT", "EXPIRES"];
        if wide {
            header.extend(["FOR", "SERVER"]);
        }
        header.push("RESULT");
        let last = header.len() - 1;
        let header = header.into_iter().map(str::to_owned).collect();
        let row = |line: &Line| {
            let account = line.account.as_ref().map(ToString::to_string);
            let mut row = vec![
                line.plane.clone(),
                line.secret.clone(),
                account.unwrap_or_default(),
                line.expires.map(stamp).unwrap_or_default(),
            ];
            if wide {
                row.extend([line.purpose.to_string(), line.server.clone()]);
            }
            row.push(result(line));
            row
        };
        let rows: Vec<Vec<String>> = std::iter::once(header).chain(self.0.iter().map(row)).collect();
        painted(&rows, |row, column| {
            let line = self.0.get(row.checked_sub(1)?)?;
            if colours && column == last { colour(line) } else { None }
        })
    }

    /// Returns the report as JSON.
    fn json(&self) -> Value {
        let line = |line: &Line| {
            let error = match &line.outcome {
                Outcome::Failed(error) => Some(error),
                _ => None,
            };
            json!({
                "for": line.purpose.to_string(),
                "plane": line.plane,
                "secret": line.secret,
                "serviceAccount": line.account.as_ref().map(ToString::to_string),
                "server": line.server,
                "expires": line.expires.map(stamp),
                "result": line.outcome.id(),
                "error": error,
                "warning": line.warning,
            })
        };
        json!({ "kubeconfigs": self.0.iter().map(line).collect::<Vec<_>>() })
    }
}

fn result(line: &Line) -> String {
    let id = line.outcome.id();
    match (&line.outcome, &line.warning) {
        (Outcome::Failed(error), _) => format!("{id}: {error}"),
        (_, Some(warning)) => format!("{id}: {warning}"),
        (_, None) => id.to_owned(),
    }
}

fn colour(line: &Line) -> Option<Colour> {
    match (&line.outcome, &line.warning) {
        (Outcome::Failed(_), _) => Some(Colour::Red),
        (_, Some(_)) => Some(Colour::Yellow),
        (_, None) => None,
    }
}
