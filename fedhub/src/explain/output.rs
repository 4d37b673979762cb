//! What `fedhub explain` prints: a table and the diagnosis below it, or both for programs.

use fedhub_api::reason::Responsible;
use fedhub_core::clock::stamp;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::chain::Chain;
use super::diagnose::{Diagnosis, State};
use super::rows::{Row, rows};
use fedhub_terminal::output::{Colour, Format, structured};
use fedhub_terminal::table::{age, painted, table};

/// The output in a format.
pub fn print(chain: &Chain, diagnosis: &Diagnosis, format: Format, colours: bool) -> String {
    structured(format, &json(chain, diagnosis)).unwrap_or_else(|| {
        let hops = hops(chain, diagnosis, format == Format::Wide);
        format!("{hops}\n\n{}", lines(chain, diagnosis, colours))
    })
}

fn hops(chain: &Chain, diagnosis: &Diagnosis, wide: bool) -> String {
    let mut header = vec!["", "HOP", "PLANE", "OBJECT", "STATE", "AGE"];
    if wide {
        header.push("DETAIL");
    }
    let header = header.into_iter().map(|it| if it.is_empty() { " ".to_owned() } else { it.to_owned() });
    let line = |row: Row| {
        // The first hop that is behind.
        let here = row.hop == diagnosis.hop && diagnosis.state != State::InSync;
        let mark = if here { ">" } else { " " };
        let mut cells = vec![
            mark.to_owned(),
            row.hop.id().to_owned(),
            row.plane,
            row.object,
            row.state,
            row.since.map_or_else(String::new, |since| age(since, chain.now)),
        ];
        if wide {
            cells.push(row.detail);
        }
        cells
    };
    let lines: Vec<Vec<String>> =
        std::iter::once(header.collect()).chain(rows(chain).into_iter().map(line)).collect();
    table(&lines)
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
        let (usual, deadline) = (limits.usual.as_secs(), limits.deadline.as_secs());
        parts.push(("Deadline", format!("slow after {usual} s, stuck after {deadline} s")));
    }
    if !evidence.is_empty() {
        parts.push(("Evidence", evidence.clone()));
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

/// Returns the explanation as JSON. The names are documented in `docs/reference/explain.md`.
pub fn json(chain: &Chain, diagnosis: &Diagnosis) -> Value {
    let seconds =
        |since: Option<Timestamp>| since.map(|since| chain.now.duration_since(since).as_secs().max(0));
    let hop = |row: Row| {
        json!({
            "hop": row.hop.id(),
            "plane": row.plane,
            "object": row.object,
            "state": row.state,
            "since": row.since.map(stamp),
            "ageSeconds": seconds(row.since),
            "detail": row.detail,
        })
    };
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
        "ageSeconds": seconds(*since),
        "slowAfterSeconds": limits.map(|it| it.usual.as_secs()),
        "stuckAfterSeconds": limits.map(|it| it.deadline.as_secs()),
        "evidence": evidence,
        "responsible": diagnosis.responsible().to_string(),
        "remedy": diagnosis.remedy(),
        "decidedBy": cause.decided_by(),
        "chain": rows(chain).into_iter().map(hop).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use fedhub_api::reason::Reason;
    use fedhub_testing::{Messages, assert_messages, assert_table};
    use strum::VariantArray;

    use super::super::cause::Cause;
    use super::super::diagnose::diagnose;
    use super::super::diagnose::tests::chain_of;
    use super::super::hop::Hop;
    use super::*;

    fn printed(cause: Cause, format: Format) -> String {
        let chain = chain_of(cause);
        print(&chain, &diagnose(&chain), format, false)
    }

    #[test]
    fn u4_what_explain_prints_reads_well() {
        let texts = Cause::VARIANTS.iter().map(|cause| {
            let who = cause.responsible();
            let (meaning, decided_by, remedy) = (cause.meaning(), cause.decided_by(), cause.remedy());
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
        let of = |reason: Reason| {
            let cause = Cause::of_reason(Some(reason));
            let who = cause.responsible().to_string();
            vec![format!("`{reason}`"), format!("`{}`", cause.id()), who, reason.remedy().to_owned()]
        };
        let with_cause = Reason::all()
            .filter(|reason| reason.is_unmet() && Cause::of_reason(Some(*reason)) != Cause::CellReported);
        let header = "| a condition says | `fedhub explain` says | acts | what to do |";
        assert_table("docs/troubleshooting.md", header, with_cause.map(of));
    }

    #[test]
    fn u4_colours_are_only_where_they_are_asked_for() {
        let chain = chain_of(Cause::ImageUnavailable);
        let diagnosis = diagnose(&chain);
        assert!(print(&chain, &diagnosis, Format::Table, true).contains("\u{1b}[31mblocked\u{1b}[0m"));
        assert!(!print(&chain, &diagnosis, Format::Table, false).contains('\u{1b}'));
    }
}
