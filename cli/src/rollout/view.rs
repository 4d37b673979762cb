//! How a rollout is shown: texts from a judgement. Pure.

use fedhub_core::message::Quoted;
use fedhub_terminal::output::Colour;
use fedhub_terminal::plain;
use fedhub_terminal::table::counted;
use serde_json::{Value, json};

use super::approve::side;
use super::awaiting;
use super::judge::{Judgement, Phase, Row};
use super::waves::{Turn, Wave};
use crate::model::{Counts, Obstacle};
use crate::view::condition::{Finding, without_attribution};
use crate::view::sheet::{Cell, Column, Cut, sheet};
use crate::view::text::wrapped;
use crate::view::{Look, number};

/// The columns of [`table`].
const COLUMNS: [Column; 6] = [
    Column::cut("PLACEMENT", Cut::End),
    Column::whole("CITY"),
    Column::whole("UPDATED"),
    Column::whole("READY"),
    Column::whole("OLD"),
    Column::whole("STATE"),
];

/// The columns of [`table`] of a rollout over waves.
const COLUMNS_OF_WAVES: [Column; 10] = [
    Column::cut("PLACEMENT", Cut::End).optional(2),
    Column::whole("CITY"),
    Column::cut("WAVE", Cut::End),
    Column::whole("TURN"),
    Column::whole("SINCE").optional(1),
    Column::whole("REVISION").optional(3),
    Column::whole("UPDATED"),
    Column::whole("READY"),
    Column::whole("OLD").optional(4),
    Column::whole("STATE"),
];

/// A table with a row for each city of each placement, and below it what stands in the way and what is
/// awaited.
pub fn table(judgement: &Judgement, look: &Look) -> String {
    let remarks = remarks(judgement).into_iter().map(|remark| wrapped(&remark, 0, look.terminal.width));
    std::iter::once(rows(judgement, look)).chain(remarks).collect::<Vec<_>>().join("\n")
}

/// Renders the waves and the rows alone, without the remarks below the table.
pub fn rows(judgement: &Judgement, look: &Look) -> String {
    let Some(waves) = &judgement.waves else {
        return sheet(&COLUMNS, judgement.rows.iter().map(cells).collect(), look);
    };
    let lines = waves.waves.iter().map(|wave| wrapped(&wave_line(wave), 0, look.terminal.width));
    let cells = judgement.rows.iter().map(cells_of_waves).collect();
    lines.chain([sheet(&COLUMNS_OF_WAVES, cells, look)]).collect::<Vec<_>>().join("\n")
}

/// Formats one wave as a line: how far it is, and its approval.
pub fn wave_line(wave: &Wave) -> String {
    let cities = match wave.cities {
        1 => "1 city".to_owned(),
        several => format!("{several} cities"),
    };
    let approval = match (&wave.approved_by, wave.gate) {
        (Some(by), _) if by.is_empty() => ", approved".to_owned(),
        (Some(by), _) => format!(", approved by {}", Quoted(by)),
        (None, Some(gate)) if wave.is_awaited => format!(", waits for approval {}", side(gate)),
        (None, Some(gate)) => format!(", requires approval {}", side(gate)),
        (None, None) => String::new(),
    };
    plain(&format!("Wave {}: {} of {cities} complete{approval}", wave.name, wave.complete)).into_owned()
}

/// The cells of [`COLUMNS_OF_WAVES`].
fn cells_of_waves(row: &Row) -> Vec<Cell> {
    let dash = || Cell::from("—");
    let turn = match &row.turn {
        Some(turn) => {
            let (word, colour) = turn.word();
            let revision = turn.revision.map_or_else(dash, |revision| revision.to_string().into());
            [turn.wave.clone().into(), Cell::new(word, Some(colour)), turn.elapsed.clone().into(), revision]
        }
        None => [dash(), dash(), dash(), dash()],
    };
    let mut cells = cells(row);
    cells.splice(2..2, turn);
    cells
}

fn cells(row: &Row) -> Vec<Cell> {
    let of = |count: fn(Counts) -> i64| number::of(row.counts.map(count), row.counts.map(|it| it.desired));
    let colour = match row.phase {
        Phase::Done => Colour::Green,
        Phase::Blocked => Colour::Red,
        Phase::Pending | Phase::Waiting | Phase::Updating | Phase::Draining | Phase::Paused => Colour::Yellow,
    };
    vec![
        row.placement.clone().into(),
        row.city.clone().into(),
        of(updated).into(),
        of(|counts| counts.ready).into(),
        row.old.to_string().into(),
        Cell::new(row.phase.to_string(), Some(colour)),
    ]
}

/// How many have the newest template, of those that are wanted: of more than that, the rest is about to go.
fn updated(counts: Counts) -> i64 {
    counts.updated.min(counts.desired)
}

/// An obstacle on one line, with who has to act.
pub fn said(obstacle: &Obstacle) -> String {
    Finding::of_obstacle(obstacle).line()
}

/// Lists obstacles and what is awaited, a line each.
pub fn remarks(judgement: &Judgement) -> Vec<String> {
    let rows = by_place(judgement, |row| {
        let cause = row.turn.as_ref().and_then(|turn| turn.cause.as_ref());
        let stands = row.obstacle.as_ref().or(cause).map(said);
        stands.or_else(|| row.awaits.as_deref().map(without_attribution))
    });
    let whole = judgement.obstacle.iter().map(said);
    let strays = (judgement.strays > 0)
        .then(|| format!("{} of cities that it has left", counted(judgement.strays, "instance")));
    whole.chain(rows).chain(strays).collect()
}

/// Lists the remarks of rows after their places; equal remarks share a line.
fn by_place(judgement: &Judgement, words: impl Fn(&Row) -> Option<String>) -> Vec<String> {
    let mut lines: Vec<(Vec<String>, String)> = Vec::new();
    for row in &judgement.rows {
        let Some(words) = words(row) else { continue };
        match lines.iter_mut().find(|(_, other)| *other == words) {
            Some((places, _)) => places.push(place(row)),
            None => lines.push((vec![place(row)], words)),
        }
    }
    lines.into_iter().map(|(places, words)| format!("{}: {words}", places.join(", "))).collect()
}

/// Formats one city as a line.
pub fn line(row: &Row) -> String {
    let place = place(row);
    let numbers = match row.counts {
        Some(counts) => {
            format!("{} of {} updated, {} ready", updated(counts), counts.desired, counts.ready)
        }
        None => "nothing reported yet".to_owned(),
    };
    let numbers = if row.old > 0 { format!("{numbers}, {} old", row.old) } else { numbers };
    let phase = row.phase.to_string().to_lowercase();
    let phase = match &row.turn {
        Some(turn) if turn.word().0.to_lowercase() == phase => {
            format!("{phase} in wave {}", plain(&turn.wave))
        }
        Some(turn) => format!("{phase}, {} in wave {}", turn.word().0.to_lowercase(), plain(&turn.wave)),
        None => phase,
    };
    match (&row.obstacle, row.phase) {
        (Some(obstacle), _) => format!("{place}: {phase}, {numbers}: {}", said(obstacle)),
        (None, _) => format!("{place}: {phase}, {numbers}"),
    }
}

/// A city with its placement: a city may be in several.
pub fn place(row: &Row) -> String {
    plain(&format!("{} ({})", row.city, row.placement)).into_owned()
}

/// Describes what is blocked, in one sentence.
pub fn blocked(name: &str, judgement: &Judgement) -> String {
    let rows = by_place(judgement, |row| row.obstacle.as_ref().map(said));
    let words: Vec<String> = judgement.obstacle.iter().map(said).chain(rows).collect();
    let name = Quoted(name);
    match words.as_slice() {
        [one] => format!("The rollout of {name} is blocked: {one}"),
        several => format!("The rollout of {name} is blocked:\n  {}", several.join("\n  ")),
    }
}

/// Describes the result of a rollout that is done.
pub fn done(name: &str, judgement: &Judgement) -> String {
    let ready: i64 = judgement.rows.iter().filter_map(|row| row.counts).map(|counts| counts.ready).sum();
    let ready = counted(usize::try_from(ready).unwrap_or_default(), "instance");
    let mut cities: Vec<&str> = judgement.rows.iter().map(|row| &*row.city).collect();
    cities.sort_unstable();
    cities.dedup();
    format!("{} is up to date: {ready} ready in {}.", Quoted(name), plain(&cities.join(", ")))
}

/// Returns the rollout for `--output json` and `yaml`.
pub fn report(name: &str, state: &str, judgement: &Judgement) -> Value {
    let row = |row: &Row| {
        let mut city = json!({
            "placement": row.placement,
            "city": row.city,
            "state": row.phase.to_string().to_lowercase(),
            "desired": row.counts.map(|counts| counts.desired),
            "updated": row.counts.map(|counts| counts.updated),
            "ready": row.counts.map(|counts| counts.ready),
            "old": row.old,
            "reason": row.obstacle.as_ref().map(|obstacle| &obstacle.reason),
            "message": row.obstacle.as_ref().map(|obstacle| &obstacle.message).or(row.awaits.as_ref()),
        });
        if let Some(turn) = &row.turn {
            city["rollout"] = turn_report(turn);
        }
        city
    };
    let message = judgement.obstacle.as_ref().map(|obstacle| obstacle.message.clone());
    let held = judgement.paused.as_ref().filter(|paused| paused.holds);
    let mut report = json!({
        "workload": name,
        "generation": judgement.generation,
        "state": state,
        "paused": judgement.paused.is_some(),
        "message": message.or_else(|| held.map(|paused| paused.sentence(name)))
            .or_else(|| awaiting::sentence(name, judgement)),
        "cities": judgement.rows.iter().map(row).collect::<Vec<_>>(),
    });
    if let Some(waves) = &judgement.waves {
        report["revision"] = json!(waves.revision);
        report["waves"] = waves.waves.iter().map(wave_report).collect();
    }
    report
}

/// How far a city is in a rollout over waves, for `--output json` and `yaml`.
pub fn turn_report(turn: &Turn) -> Value {
    json!({
        "wave": turn.wave,
        "state": turn.word().0.to_lowercase(),
        "revision": turn.revision,
        "since": turn.since,
        "reason": turn.cause.as_ref().map(|cause| &cause.reason),
        "message": turn.cause.as_ref().map(|cause| &cause.message),
    })
}

fn wave_report(wave: &Wave) -> Value {
    json!({
        "name": wave.name,
        "cities": wave.cities,
        "complete": wave.complete,
        "gate": wave.gate,
        "approvedBy": wave.approved_by,
        "awaitingApproval": wave.is_awaited,
    })
}
