//! What goes wrong, in words for the user of the command: a sentence, what to do about it, and the exit
//! code.

mod failure;
mod request;

pub use failure::Failure;
pub use request::{is_final, of_watch};

use fedhub_terminal::{Terminal, output, plain_lines};

use crate::exit::Exit;
use crate::view::text::wrapped;

/// Why a command did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The problem, in one sentence.
    pub sentence: String,
    /// The remedy.
    pub remedy: Option<String>,
    /// The server's or the library's own words, told with `--verbose`.
    pub raw: Option<String>,
    /// How the program ends.
    pub exit: Exit,
}

impl Problem {
    /// A problem without a remedy.
    pub fn new(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), remedy: None, raw: None, exit }
    }

    /// Something failed.
    pub fn failed(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Failed, sentence)
    }

    /// The command line, a file or the environment is not understood.
    pub fn usage(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Usage, sentence)
    }

    /// Ctrl-C.
    pub fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "Interrupted.")
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// Adds the words of the server, or the program, that refused.
    #[must_use]
    pub fn raw(self, raw: impl Into<String>) -> Self {
        Self { raw: Some(raw.into()), ..self }
    }

    /// Prints the problem on standard error, and returns how the program ends.
    pub fn tell(&self, verbose: bool) -> Exit {
        output::print_error(&self.told(verbose, Terminal::of_process().error_width));
        self.exit
    }

    /// Returns the text for a terminal of this width: its lines are wrapped between words.
    pub fn told(&self, verbose: bool, width: Option<usize>) -> String {
        let text = self.text(verbose);
        // Before it is wrapped: an escaped character is wider.
        let text = plain_lines(&text);
        let lines = text.lines().map(|line| wrapped(line, line.len() - line.trim_start().len(), width));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns the text.
    pub fn text(&self, verbose: bool) -> String {
        let raw = self.raw.as_ref().filter(|_| verbose).map(|raw| format!("Details: {raw}"));
        let lines = [Some(format!("Error: {}", self.sentence)), self.remedy.clone(), raw];
        lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}
