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

/// The same for programs. The names are documented in `docs/reference/explain.md`.
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
    use std::fs;
    use std::path::Path;

    use fedhub_testing::{Messages, assert_messages};
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

    /// The tables of `docs/reference/explain.md` are what the code has.
    #[test]
    fn u4_the_reference_names_every_cause_and_every_hop() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/explain.md");
        let document = fs::read_to_string(path).unwrap();
        let rows: Vec<&str> = document.lines().filter(|line| line.starts_with("| `")).collect();
        let mut expected: Vec<String> = Cause::VARIANTS
            .iter()
            .map(|cause| {
                let cells =
                    [cause.meaning(), &cause.responsible().to_string(), cause.remedy(), cause.decided_by()];
                format!("| `{}` | {} |", cause.id(), cells.join(" | "))
            })
            .collect();
        expected.extend(Hop::VARIANTS.iter().map(|hop| {
            let limits = hop.limits();
            let (usual, deadline) = (limits.usual.as_secs(), limits.deadline.as_secs());
            format!("| `{}` | {usual} s | {deadline} s | {} |", hop.id(), hop.owner())
        }));
        let missing: Vec<_> = expected.iter().filter(|row| !rows.contains(&row.as_str())).collect();
        assert!(
            missing.is_empty(),
            "docs/reference/explain.md lacks\n{}",
            missing.iter().map(|it| it.as_str()).collect::<Vec<_>>().join("\n")
        );
        let ids = |row: &&&str| row.starts_with("| `") && !expected.contains(&(**row).to_string());
        let other: Vec<_> = rows.iter().filter(ids).filter(|row| row.matches(" | ").count() > 1).collect();
        assert!(other.is_empty(), "docs/reference/explain.md has rows that the code has not: {other:?}");
    }

    #[test]
    fn u4_colours_are_only_where_they_are_asked_for() {
        let chain = chain_of(Cause::ImageUnavailable);
        let diagnosis = diagnose(&chain);
        assert!(print(&chain, &diagnosis, Format::Table, true).contains("\u{1b}[31mblocked\u{1b}[0m"));
        assert!(!print(&chain, &diagnosis, Format::Table, false).contains('\u{1b}'));
    }
}
