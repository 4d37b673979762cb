//! What `fedhub explain` prints: a table and the diagnosis below it, or both for programs.

use fedhub_api::reason::Responsible;
use fedhub_core::clock::stamp;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::cause::Cause;
use super::chain::Chain;
use super::diagnose::{Diagnosis, State};
use super::rows::rows;
use fedhub_terminal::output::Colour;
use fedhub_terminal::report::{Field, Look, Report, Row, list_of, parts, table_of};
use fedhub_terminal::table::{age, painted, seconds};

/// What was read of a WD or an Instance, and what was found.
#[derive(Debug)]
pub struct Explained {
    /// What was read.
    pub chain: Chain,
    /// What was found.
    pub diagnosis: Diagnosis,
}

impl Report for Explained {
    fn text(&self, look: Look) -> String {
        let Self { chain, diagnosis } = self;
        parts([table_of(&hops(chain, diagnosis), look), lines(chain, diagnosis, look.colours)])
    }

    fn json(&self) -> Value {
        json(&self.chain, &self.diagnosis)
    }
}

/// A hop, at the time of the read. The names are documented in `docs/reference/explain.md`.
struct HopLine {
    row: super::Row,
    /// Whether it is the first one that is behind.
    here: bool,
    now: Timestamp,
}

impl Row for HopLine {
    const FIELDS: &'static [Field<Self>] = &[
        Field::column(" ", |line| json!(if line.here { ">" } else { " " })),
        Field::new("hop", "HOP", |line| json!(line.row.hop.id())),
        Field::new("plane", "PLANE", |line| json!(line.row.plane)),
        Field::new("object", "OBJECT", |line| json!(line.row.object)),
        Field::new("state", "STATE", |line| json!(line.row.state)),
        Field::named("since", |line| json!(line.row.since.map(stamp))),
        Field::named("ageSeconds", |line| json!(line.row.since.map(|since| seconds(since, line.now)))),
        Field::column("AGE", |line| json!(line.row.since.map(|since| age(since, line.now)))),
        Field::new("detail", "DETAIL", |line: &Self| json!(line.row.detail)).wide(),
    ];
}

fn hops(chain: &Chain, diagnosis: &Diagnosis) -> Vec<HopLine> {
    let is_here = |row: &super::Row| row.hop == diagnosis.hop && diagnosis.state != State::InSync;
    rows(chain).into_iter().map(|row| HopLine { here: is_here(&row), row, now: chain.now }).collect()
}

/// The diagnosis, one line for each part.
pub fn lines(chain: &Chain, diagnosis: &Diagnosis, colours: bool) -> String {
    let colour = match diagnosis.state {
        State::InSync => Colour::Green,
        State::OnItsWay | State::Slow => Colour::Yellow,
        State::Stuck | State::Blocked => Colour::Red,
    };
    let state = ("State", words(diagnosis.state).to_owned());
    let parts = std::iter::once(state).chain(verdict(chain, diagnosis));
    let rows: Vec<_> = parts.map(|(label, text)| vec![format!("{label}:"), text]).collect();
    painted(&rows, |row, column| (colours && row == 0 && column == 1).then_some(colour))
}

/// The diagnosis, its state aside: labels and what stands behind each.
pub fn verdict(chain: &Chain, diagnosis: &Diagnosis) -> Vec<(&'static str, String)> {
    let Diagnosis { cause, hop, state, since, evidence, limits } = diagnosis;
    let mut parts = vec![("Cause", format!("{}: {}", cause.id(), cause.meaning()))];
    if *state != State::InSync {
        parts.push(("Hop", hop.id().to_owned()));
    }
    if let Some(since) = since {
        parts.push(("Since", format!("{} ({})", stamp(*since), age(*since, chain.now))));
    }
    if let Some(limits) = limits {
        let usual = limits.usual.as_secs();
        let deadline = limits.deadline.as_secs();
        parts.push(("Deadline", format!("slow after {usual} s, stuck after {deadline} s")));
    }
    if !evidence.is_empty() {
        parts.push(("Evidence", evidence.clone()));
    }
    if let Some(turn) = chain.turn()
        && !cause.is_of_rollout()
    {
        parts.push(("Rollout", turn.evidence));
    }
    if *cause == Cause::AwaitingTurn {
        parts.push(("Who acts", "nobody: it goes on by itself".to_owned()));
    }
    if state.is_trouble() {
        parts.push(("Who acts", who(diagnosis.responsible()).to_owned()));
        parts.push(("What to do", diagnosis.remedy()));
    }
    parts
}

/// A state in words.
pub fn words(state: State) -> &'static str {
    match state {
        State::InSync => "in sync",
        State::OnItsWay => "on its way",
        State::Slow => "slow",
        State::Stuck => "stuck",
        State::Blocked => "blocked",
    }
}

fn who(responsible: Responsible) -> &'static str {
    match responsible {
        Responsible::User => "the user",
        Responsible::Operator => "the platform operator",
        Responsible::Nobody => "nobody",
    }
}

fn json(chain: &Chain, diagnosis: &Diagnosis) -> Value {
    let Diagnosis { cause, state, since, evidence, limits, .. } = diagnosis;
    let subject = &chain.subject;
    let kind: &'static str = subject.kind.into();
    json!({
        "subject": {
            "kind": kind,
            "plane": subject.plane,
            "namespace": subject.namespace,
            "name": subject.name,
            "workloadDeployment": chain.deployment,
        },
        "state": state.id(),
        "cause": cause.id(),
        "meaning": cause.meaning(),
        "hop": diagnosis.hop.id(),
        "since": since.map(stamp),
        "ageSeconds": since.map(|since| seconds(since, chain.now)),
        "slowAfterSeconds": limits.map(|it| it.usual.as_secs()),
        "stuckAfterSeconds": limits.map(|it| it.deadline.as_secs()),
        "evidence": evidence,
        "rollout": chain.turn().map(|turn| turn.evidence),
        "responsible": diagnosis.responsible().to_string(),
        "remedy": diagnosis.remedy(),
        "decidedBy": cause.decided_by(),
        "chain": list_of(&hops(chain, diagnosis)),
    })
}

#[cfg(test)]
mod tests {
    use fedhub_api::reason::Reason;
    use fedhub_terminal::output::Format;
    use fedhub_testing::{Messages, assert_messages, assert_table};
    use strum::VariantArray;

    use super::super::cause::Cause;
    use super::super::diagnose::diagnose;
    use super::super::diagnose::tests::chain_of;
    use super::super::hop::Hop;
    use super::*;

    fn explained(cause: Cause) -> Explained {
        let chain = chain_of(cause);
        Explained { diagnosis: diagnose(&chain), chain }
    }

    fn printed(cause: Cause, format: Format) -> String {
        explained(cause).print(format, false)
    }

    #[test]
    fn u4_what_explain_prints_reads_well() {
        let texts = Cause::VARIANTS.iter().map(|cause| {
            let who = cause.responsible();
            let meaning = cause.meaning();
            let decided_by = cause.decided_by();
            let remedy = cause.remedy();
            (cause.id(), format!("{meaning}\nacts: {who}\nremedy: {remedy}\ndecided by: {decided_by}"))
        });
        let tables =
            [Cause::InSync, Cause::ImageUnavailable, Cause::FedhubNotRunning, Cause::FederatorBehind];
        let tables = tables.map(|cause| (cause.id(), printed(cause, Format::Table)));
        let wide = [Cause::ApplyFailed].map(|cause| (cause.id(), printed(cause, Format::Wide)));
        let programs = [(Format::Json, Cause::KarmadaSlow), (Format::Yaml, Cause::CellNotReady)];
        let programs = programs.map(|(format, cause)| (cause.id(), printed(cause, format)));
        let mut messages = Messages::default();
        messages.section("Causes", texts).section("Tables", tables);
        messages.section("Wide", wide).section("Programs", programs);
        assert_messages!("explain", messages);
    }

    /// The tables of documents are written from the code: `UPDATE_REASONS=1` writes them anew.
    #[test]
    fn u4_the_reference_names_every_cause_every_hop_and_every_reason() {
        let of = |cause: &Cause| {
            let acts = cause.responsible().to_string();
            let [meaning, remedy] = [cause.meaning(), cause.remedy()].map(str::to_owned);
            vec![format!("`{}`", cause.id()), meaning, acts, remedy, cause.decided_by()]
        };
        let header = "| cause | meaning | acts | what to do | decided by |";
        assert_table("docs/reference/explain.md", header, Cause::VARIANTS.iter().map(of));
        let of = |hop: &Hop| {
            let limits = hop.limits();
            let [usual, deadline] = [limits.usual, limits.deadline].map(|it| format!("{} s", it.as_secs()));
            vec![format!("`{}`", hop.id()), usual, deadline, hop.owner().to_owned()]
        };
        let header = "| hop | slow after | stuck after | where to look |";
        assert_table("docs/reference/explain.md", header, Hop::VARIANTS.iter().map(of));
        let with_cause = Reason::all()
            .filter(|reason| reason.is_unmet() && Cause::of_reason(Some(*reason)) != Cause::CellReported);
        let header = "| a condition says | `fedhub explain` says | acts | what to do |";
        assert_table(
            "docs/troubleshooting.md",
            header,
            with_cause.map(|reason| {
                let cause = Cause::of_reason(Some(reason));
                let who = cause.responsible().to_string();
                vec![format!("`{reason}`"), format!("`{}`", cause.id()), who, reason.remedy().to_owned()]
            }),
        );
    }

    #[test]
    fn u4_colours_are_only_where_they_are_asked_for() {
        let explained = explained(Cause::ImageUnavailable);
        assert!(explained.print(Format::Table, true).contains("\u{1b}[31mblocked\u{1b}[0m"));
        assert!(!explained.print(Format::Table, false).contains('\u{1b}'));
    }
}
