//! The display of a rollout: redrawn in place on a terminal, a line for each change elsewhere. Both on
//! standard error.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use fedhub_terminal::plain;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::judge::Judgement;
use super::view;
use crate::view::Look;

/// How often the spinner turns.
const TICK: Duration = Duration::from_millis(120);

/// Something that shows a rollout.
pub trait Display {
    /// Shows what is known now.
    fn show(&mut self, judgement: &Judgement);
    /// Shows a note beside the rollout, such as that the connection was lost.
    fn note(&mut self, text: &str);
    /// Whether it is drawn anew as time passes, for how long cities are in their states.
    fn is_live(&self) -> bool {
        false
    }
    /// Ends the display. `told`: whether an error with the obstacles follows, so that they are not repeated
    /// here.
    fn finish(&mut self, told: bool);
}

/// The one that fits a terminal.
pub fn of(look: Look) -> Box<dyn Display> {
    let redraws = look.terminal.stderr && !look.terminal.ci;
    if redraws {
        Box::new(Live::new(look, ProgressDrawTarget::stderr()))
    } else {
        Box::new(Plain::new(std::io::stderr()))
    }
}

/// A line for each change.
pub struct Plain<W> {
    out: W,
    shown: BTreeMap<(String, String), String>,
    whole: Option<String>,
    waves: BTreeMap<String, String>,
}

impl<W: Write> Plain<W> {
    /// Creates a display that writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out, shown: BTreeMap::new(), whole: None, waves: BTreeMap::new() }
    }

    /// Writes one line, escaping what others wrote.
    fn line(&mut self, text: &str) {
        // The output is closed: the exit code still reports the result.
        let _written = writeln!(self.out, "{}", plain(text)).and_then(|()| self.out.flush());
    }
}

impl<W: Write> Display for Plain<W> {
    fn show(&mut self, judgement: &Judgement) {
        let whole = judgement.obstacle.as_ref().map(|obstacle| format!("blocked: {}", view::said(obstacle)));
        if whole != self.whole {
            self.line(whole.as_deref().unwrap_or("no longer blocked"));
            self.whole = whole;
        }
        for wave in judgement.waves.iter().flat_map(|waves| &waves.waves) {
            let text = view::wave_line(wave);
            if self.waves.get(&wave.name) != Some(&text) {
                self.line(&text);
                self.waves.insert(wave.name.clone(), text);
            }
        }
        for row in &judgement.rows {
            let key = (row.placement.clone(), row.city.clone());
            let text = view::line(row);
            if self.shown.get(&key) != Some(&text) {
                self.line(&text);
                self.shown.insert(key, text);
            }
        }
        let here = |placement: &str, city: &str| {
            judgement.rows.iter().any(|row| row.placement == placement && row.city == city)
        };
        let gone: Vec<_> =
            self.shown.keys().filter(|(placement, city)| !here(placement, city)).cloned().collect();
        for key in gone {
            self.line(&format!("{} ({}): removed", key.1, key.0));
            self.shown.remove(&key);
        }
    }

    fn note(&mut self, text: &str) {
        self.line(text);
    }

    fn finish(&mut self, _told: bool) {}
}

/// A table that is redrawn in place, with the time that has passed below it.
struct Live {
    bars: MultiProgress,
    lines: Vec<ProgressBar>,
    /// How many of the lines are the table; what is below them is what stands in the way.
    rows: usize,
    spinner: ProgressBar,
    look: Look,
}

impl Live {
    fn new(look: Look, target: ProgressDrawTarget) -> Self {
        let bars = MultiProgress::with_draw_target(target);
        let spinner = bars.add(ProgressBar::new_spinner());
        let style =
            ProgressStyle::with_template("{spinner} {elapsed} Ctrl-C stops watching, not the rollout");
        spinner.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        spinner.enable_steady_tick(TICK);
        Self { bars, lines: Vec::new(), rows: 0, spinner, look: Look { no_headers: false, ..look } }
    }

    /// Leaves at most `count` lines.
    fn cut(&mut self, count: usize) {
        for line in self.lines.drain(count.min(self.lines.len())..) {
            self.bars.remove(&line);
        }
    }

    fn text() -> ProgressStyle {
        ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar())
    }
}

impl Display for Live {
    fn show(&mut self, judgement: &Judgement) {
        let table = view::table(judgement, &self.look);
        let lines: Vec<&str> = table.lines().collect();
        self.rows = view::rows(judgement, &self.look).lines().count();
        self.cut(lines.len());
        while self.lines.len() < lines.len() {
            let line = self.bars.insert_before(&self.spinner, ProgressBar::new_spinner());
            line.set_style(Self::text());
            self.lines.push(line);
        }
        for (line, text) in self.lines.iter().zip(lines) {
            if line.message() != text {
                line.set_message(text.to_owned());
            }
        }
    }

    fn is_live(&self) -> bool {
        true
    }

    fn note(&mut self, text: &str) {
        // A terminal that is gone needs no notes.
        let _written = self.bars.println(plain(text));
    }

    fn finish(&mut self, told: bool) {
        if told {
            self.cut(self.rows);
        }
        self.spinner.finish_and_clear();
        for line in &self.lines {
            line.abandon();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Obstacle;
    use crate::rollout::judge::{Phase, Row, Verdict};

    fn blocked() -> Judgement {
        let obstacle = Obstacle::new("ImageUnavailable", "no such image");
        let row = Row {
            placement: "us".to_owned(),
            city: "DFW".to_owned(),
            phase: Phase::Blocked,
            counts: None,
            old: 0,
            obstacle: Some(obstacle),
            awaits: None,
            turn: None,
        };
        Judgement {
            generation: 1,
            taken_up: true,
            rows: vec![row],
            strays: 0,
            obstacle: None,
            paused: None,
            has_earlier: false,
            waves: None,
            verdict: Verdict::Blocked,
        }
    }

    #[test]
    fn what_is_told_at_the_end_does_not_stand_below_the_table_too() {
        for told in [true, false] {
            let mut live = Live::new(Look::default(), ProgressDrawTarget::hidden());
            live.show(&blocked());
            let said = |live: &Live| live.lines.iter().any(|line| line.message().contains("no such image"));
            assert!(said(&live) && live.lines.len() == 3, "{:?}", live.lines);
            live.finish(told);
            assert_eq!((said(&live), live.lines.len()), (!told, if told { 2 } else { 3 }));
        }
    }
}
