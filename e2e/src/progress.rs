//! One line per step, with the time since the start, on standard error.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::output::complain;

/// Says what is being done. Cheap to clone; a silent one says nothing.
#[derive(Debug, Clone)]
pub struct Progress {
    start: Instant,
    style: Style,
    label: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Silent,
    Plain,
    Coloured,
}

impl Progress {
    /// Speaks on standard error; in colour only when that is a terminal that has not asked for none.
    pub fn stderr() -> Self {
        let coloured = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self {
            start: Instant::now(),
            style: if coloured { Style::Coloured } else { Style::Plain },
            label: None,
        }
    }

    /// Says nothing.
    pub fn silent() -> Self {
        Self { start: Instant::now(), style: Style::Silent, label: None }
    }

    /// With this label before each line, for what runs beside something else.
    #[must_use]
    pub fn labelled(&self, label: &str) -> Self {
        Self { label: Some(label.into()), ..self.clone() }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// A step is done.
    pub fn step(&self, text: impl AsRef<str>) {
        self.line("32", text.as_ref());
    }

    /// Something is left out or not as it should be, and the work goes on.
    pub fn warn(&self, text: impl AsRef<str>) {
        self.line("33", text.as_ref());
    }

    fn line(&self, colour: &str, text: &str) {
        let seconds = self.elapsed().as_secs_f64();
        let label = self.label.as_deref().map(|label| format!("{label}: ")).unwrap_or_default();
        let line = match self.style {
            Style::Silent => return,
            Style::Plain => format!("[{seconds:6.2}s] {label}{text}"),
            Style::Coloured => format!("\x1b[2m[{seconds:6.2}s] {label}\x1b[0m\x1b[{colour}m{text}\x1b[0m"),
        };
        complain(line);
    }
}
