//! How a rollout is shown: texts from a judgement. Pure.

use fedhub_core::message::Quoted;
use fedhub_terminal::output::Colour;
use fedhub_terminal::plain;
use fedhub_terminal::table::counted;
use serde_json::{Value, json};

use super::judge::{Judgement, Phase, Row};
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

/// A table with a row for each city of each placement, and below it what stands in the way and what is
/// awaited.
pub fn table(judgement: &Judgement, look: &Look) -> String {
    let remarks = remarks(judgement).into_iter().map(|remark| wrapped(&remark, 0, look.terminal.width));
    std::iter::once(rows(judgement, look)).chain(remarks).collect::<Vec<_>>().join("\n")
}

/// Renders the rows alone, without the remarks below the table.
pub fn rows(judgement: &Judgement, look: &Look) -> String {
    sheet(&COLUMNS, judgement.rows.iter().map(cells).collect(), look)
}

fn cells(row: &Row) -> Vec<Cell> {
    let of = |count: fn(Counts) -> i64| number::of(row.counts.map(count), row.counts.map(|it| it.desired));
    let colour = match row.phase {
        Phase::Done => Colour::Green,
        Phase::Blocked => Colour::Red,
        Phase::Pending | Phase::Updating | Phase::Draining | Phase::Paused => Colour::Yellow,
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
        row.obstacle.as_ref().map(said).or_else(|| row.awaits.as_deref().map(without_attribution))
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
    match (&row.obstacle, row.phase) {
        (Some(obstacle), _) => format!("{place}: {phase}, {numbers}: {}", said(obstacle)),
        (None, Phase::Done) => format!("{place}: done, {numbers}"),
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
        json!({
            "placement": row.placement,
            "city": row.city,
            "state": row.phase.to_string().to_lowercase(),
            "desired": row.counts.map(|counts| counts.desired),
            "updated": row.counts.map(|counts| counts.updated),
            "ready": row.counts.map(|counts| counts.ready),
            "old": row.old,
            "reason": row.obstacle.as_ref().map(|obstacle| &obstacle.reason),
            "message": row.obstacle.as_ref().map(|obstacle| &obstacle.message).or(row.awaits.as_ref()),
        })
    };
    let message = judgement.obstacle.as_ref().map(|obstacle| obstacle.message.clone());
    let held = judgement.paused.as_ref().filter(|paused| paused.holds);
    json!({
        "workload": name,
        "generation": judgement.generation,
        "state": state,
        "paused": judgement.paused.is_some(),
        "message": message.or_else(|| held.map(|paused| paused.sentence(name))),
        "cities": judgement.rows.iter().map(row).collect::<Vec<_>>(),
    })
}
