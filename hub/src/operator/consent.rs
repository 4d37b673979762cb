//! Questions to the operator, before something is written.

use std::io::{BufRead, IsTerminal, Write};

/// Whether somebody is there to answer.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal()
}

/// Whether the answer to a question is exactly that word.
pub fn agrees(question: &str, word: &str) -> bool {
    eprint!("{question} Type {word}: ");
    let mut answer = String::new();
    let asked = std::io::stderr().flush().and_then(|()| std::io::stdin().lock().read_line(&mut answer));
    asked.is_ok() && answer.trim() == word
}
