//! Questions to the user of a command, before something is written.

use std::io::{BufRead, IsTerminal, Write};

use crate::plain_lines;

/// Whether somebody is there to answer.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal()
}

/// Whether the answer to a question is exactly that word.
pub fn agrees(question: &str, word: &str) -> bool {
    answer(&format!("{question} Type {word}: ")).is_some_and(|answer| answer == word)
}

/// Whether the answer to a question is yes. Return alone is the default; the end of input is no.
pub fn confirms(question: &str, default: bool) -> bool {
    let question = format!("{question} [{}] ", if default { "Y/n" } else { "y/N" });
    answer(&question).is_some_and(|answer| is_yes(&answer, default))
}

/// The line of standard input that answers a question; `None` at its end, and where the question cannot be
/// seen.
fn answer(question: &str) -> Option<String> {
    let mut answer = String::new();
    let mut out = std::io::stderr().lock();
    let asked = write!(out, "{}", plain_lines(question)).and_then(|()| out.flush());
    drop(out);
    let read = asked.and_then(|()| std::io::stdin().lock().read_line(&mut answer));
    read.is_ok_and(|bytes| bytes > 0).then(|| answer.trim().to_owned())
}

fn is_yes(answer: &str, default: bool) -> bool {
    match answer.to_lowercase().as_str() {
        "" => default,
        answer => matches!(answer, "y" | "yes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u4_only_yes_is_yes() {
        for (answer, default, expected) in [
            ("y", false, true),
            ("YES", false, true),
            ("", true, true),
            ("", false, false),
            ("n", true, false),
            ("yep", true, false),
        ] {
            assert_eq!(is_yes(answer, default), expected, "{answer:?} {default}");
        }
    }
}
