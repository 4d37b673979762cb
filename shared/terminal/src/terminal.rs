//! The standard streams of the process.

use std::io::IsTerminal;
use std::os::fd::AsFd;

/// The narrowest terminal that output is made for, in columns.
const NARROWEST: usize = 60;

/// The standard streams of the process, inspected once at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    /// Whether standard input is a terminal.
    pub stdin: bool,
    /// Whether standard error is one.
    pub stderr: bool,
    /// Whether standard output takes colours.
    pub colours: bool,
    /// Whether the variable `CI` is set: nobody is there, whatever the streams say.
    pub ci: bool,
    /// Columns of the terminal; `None` where standard output is none, and lines may be as long as they like.
    pub width: Option<usize>,
    /// Columns of the terminal that standard error is; `None` where it is none.
    pub error_width: Option<usize>,
}

impl Terminal {
    /// Returns the terminal of this process.
    pub fn of_process() -> Self {
        Self {
            stdin: std::io::stdin().is_terminal(),
            stderr: std::io::stderr().is_terminal(),
            colours: crate::output::colours(),
            ci: std::env::var("CI").is_ok_and(|value| is_ci(&value)),
            width: columns(&std::io::stdout()),
            error_width: columns(&std::io::stderr()),
        }
    }

    /// Whether a question can be asked: somebody reads it, and can answer.
    pub fn can_ask(self) -> bool {
        self.stdin && self.stderr && !self.ci
    }
}

/// How wide a stream is, where it is a terminal: as the variable `COLUMNS` says, else as the terminal does.
fn columns(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let columns = stream.is_terminal().then(|| {
        named.or_else(|| rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col)))
    })?;
    columns.filter(|columns| *columns > 0).map(|columns| columns.max(NARROWEST))
}

/// Whether that value of `CI` says that nobody is there.
fn is_ci(value: &str) -> bool {
    !matches!(value, "" | "0" | "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u4_nobody_is_asked_where_nobody_can_answer() {
        let all = Terminal { stdin: true, stderr: true, ..Terminal::default() };
        for (terminal, asks) in [
            (all, true),
            (Terminal { ci: true, ..all }, false),
            (Terminal { stdin: false, ..all }, false),
            (Terminal { stderr: false, ..all }, false),
        ] {
            assert_eq!(terminal.can_ask(), asks, "{terminal:?}");
        }
        for (value, expected) in [("", false), ("0", false), ("false", false), ("true", true), ("1", true)] {
            assert_eq!(is_ci(value), expected, "{value}");
        }
    }
}
