//! Where a rollout is shown: redrawn in place on a terminal, a line for each change elsewhere. Both on standard error.

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
    /// Says something beside it, such as that the connection was lost.
    fn note(&mut self, text: &str);
    /// Nothing more comes.
    fn finish(&mut self);
}

/// The one that fits a terminal.
pub fn of(look: Look) -> Box<dyn Display> {
    let redraws = look.terminal.stderr && !look.terminal.ci;
    if redraws { Box::new(Live::new(look)) } else { Box::new(Plain::new(std::io::stderr())) }
}

/// A line for each change.
pub struct Plain<W> {
    out: W,
    shown: BTreeMap<(String, String), String>,
    whole: Option<String>,
}

impl<W: Write> Plain<W> {
    /// That writes there.
    pub fn new(out: W) -> Self {
        Self { out, shown: BTreeMap::new(), whole: None }
    }

    /// One line, whatever others wrote of it.
    fn line(&mut self, text: &str) {
        // Nobody reads it any more: the exit code still tells how it ended.
        let _written = writeln!(self.out, "{}", plain(text)).and_then(|()| self.out.flush());
    }
}

impl<W: Write> Display for Plain<W> {
    fn show(&mut self, judgement: &Judgement) {
        let whole = judgement.obstacle.as_ref().map(|obstacle| format!("blocked: {}", obstacle.message));
        if whole != self.whole {
            self.line(whole.as_deref().unwrap_or("no longer blocked"));
            self.whole = whole;
        }
        for row in &judgement.rows {
            let (key, text) = ((row.placement.clone(), row.city.clone()), view::line(row));
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

    fn finish(&mut self) {}
}

/// A table that is redrawn in place, with the time that has passed below it.
struct Live {
    bars: MultiProgress,
    lines: Vec<ProgressBar>,
    spinner: ProgressBar,
    look: Look,
}

impl Live {
    fn new(look: Look) -> Self {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let spinner = bars.add(ProgressBar::new_spinner());
        let style =
            ProgressStyle::with_template("{spinner} {elapsed} Ctrl-C stops watching, not the rollout");
        spinner.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        spinner.enable_steady_tick(TICK);
        Self { bars, lines: Vec::new(), spinner, look: Look { no_headers: false, ..look } }
    }

    fn text() -> ProgressStyle {
        ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar())
    }
}

impl Display for Live {
    fn show(&mut self, judgement: &Judgement) {
        let table = view::table(judgement, &self.look);
        let lines: Vec<&str> = table.lines().collect();
        while self.lines.len() > lines.len() {
            if let Some(line) = self.lines.pop() {
                self.bars.remove(&line);
            }
        }
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

    fn note(&mut self, text: &str) {
        // A terminal that is gone needs no notes.
        let _written = self.bars.println(plain(text));
    }

    fn finish(&mut self) {
        self.spinner.finish_and_clear();
        for line in &self.lines {
            line.abandon();
        }
    }
}
