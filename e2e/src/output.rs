//! What the programs of this crate print. A reader that stops early, such as `head`, ends none of them: they
//! have servers to take down.

use std::fmt::Display;
use std::io::Write;

/// Prints a text and a line's end on standard output.
pub fn say(text: impl Display) {
    // Whoever has gone away misses nothing.
    let _gone = std::io::stdout().write_all(format!("{text}\n").as_bytes());
}

/// Prints a text and a newline on standard error. One write, so that lines of two tasks do not mix.
pub fn complain(text: impl Display) {
    let _gone = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}
