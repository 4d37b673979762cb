//! A line of progress on standard error, for what takes longer than a second in front of a terminal.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How long nothing is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line is drawn.
const EVERY: Duration = Duration::from_millis(100);
/// Back to the beginning of the line, which is cleared.
const CLEAR: &str = "\r\u{1b}[K";

/// How much of something is done.
pub struct Progress {
    what: &'static str,
    total: usize,
    began: Instant,
    drawn: Option<Instant>,
    on: bool,
}

impl Progress {
    /// Starts a progress line for `total` items.
    pub fn new(what: &'static str, total: usize) -> Self {
        Self { what, total, began: Instant::now(), drawn: None, on: std::io::stderr().is_terminal() }
    }

    /// Shows how many items are done.
    pub fn done(&mut self, done: usize) {
        let now = Instant::now();
        if self.on && is_due(now.duration_since(self.began), self.drawn.map(|at| now.duration_since(at))) {
            self.drawn = Some(now);
            draw(&format!("{CLEAR}{done}/{} {}", self.total, self.what));
        }
    }

    /// Removes the line: everything is done.
    pub fn finish(self) {
        if self.drawn.is_some() {
            draw(CLEAR);
        }
    }
}

/// Whether the line is to be drawn, by the time since the beginning and since it was drawn last.
fn is_due(began: Duration, drawn: Option<Duration>) -> bool {
    began >= PATIENCE && drawn.is_none_or(|drawn| drawn >= EVERY)
}

fn draw(text: &str) {
    let mut terminal = std::io::stderr().lock();
    // A terminal that is gone needs no progress.
    let _written = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u4_progress_is_shown_after_a_second_and_not_at_each_step() {
        let ms = Duration::from_millis;
        for (began, drawn, expected) in [
            (ms(0), None, false),
            (ms(999), None, false),
            (ms(1000), None, true),
            (ms(1050), Some(ms(50)), false),
            (ms(1100), Some(ms(100)), true),
        ] {
            assert_eq!(is_due(began, drawn), expected, "{began:?} {drawn:?}");
        }
    }
}
