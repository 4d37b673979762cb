//! How commands print: `-o table|wide|json|yaml`, and colours where a terminal shows them.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};

use serde_json::Value;

use crate::plain::{painted_lines, plain_json, plain_lines};

/// An output format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A table for people.
    #[default]
    Table,
    /// The table with more columns.
    Wide,
    /// JSON for programs.
    Json,
    /// YAML for programs.
    Yaml,
}

impl Format {
    /// Whether it is one for programs.
    pub fn is_structured(self) -> bool {
        matches!(self, Self::Json | Self::Yaml)
    }
}

/// The flags of the output.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct OutputArgs {
    /// Output format.
    #[arg(short, long, default_value = "table", value_name = "FORMAT")]
    pub output: Format,
    /// Print JSON: the same as --output=json.
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
}

impl OutputArgs {
    /// The format that is asked for.
    pub fn format(self) -> Format {
        if self.json { Format::Json } else { self.output }
    }
}

/// A value in the words of a program, of which nothing steers a terminal; `None` where the format is a table.
pub fn structured(format: Format, value: &Value) -> Option<String> {
    match format {
        Format::Json => Some(plain_json(&format!("{value:#}")).into_owned()),
        Format::Yaml => {
            let yaml = serde_saphyr::to_string(value).ok()?;
            // Some characters YAML leaves as they are. JSON, which is YAML too, has an escape for each, so
            // that who reads it gets what was written.
            match plain_lines(&yaml) {
                Cow::Borrowed(yaml) => Some(yaml.trim_end().to_owned()),
                Cow::Owned(_) => structured(Format::Json, value),
            }
        }
        Format::Table | Format::Wide => None,
    }
}

/// Prints a text and a line's end on standard output, where nothing of it steers a terminal but the colours
/// of this program. A reader that stops reading early is no error.
pub fn print(text: &str) -> std::io::Result<()> {
    let shown = if colours() { painted_lines(text, &SEQUENCES) } else { plain_lines(text) };
    print_verbatim(&shown)
}

/// Prints a text that is all of this program, such as a script for a shell, and a line's end on standard
/// output.
pub fn print_verbatim(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Prints a text and a line's end on standard error, where nothing of it steers a terminal. Where that is
/// closed, the exit code still says how the command ended.
pub fn print_error(text: &str) {
    let mut out = std::io::stderr().lock();
    let _written = writeln!(out, "{}", plain_lines(text)).and_then(|()| out.flush());
}

/// A colour of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// All is well.
    Green,
    /// Something is in progress.
    Yellow,
    /// Attention is needed.
    Red,
}

/// Ends a colour.
const RESET: &str = "\u{1b}[0m";
/// All sequences that are sent to a terminal besides text.
const SEQUENCES: [&str; 4] =
    [Colour::Green.sequence(), Colour::Yellow.sequence(), Colour::Red.sequence(), RESET];

impl Colour {
    const fn sequence(self) -> &'static str {
        match self {
            Self::Green => "\u{1b}[32m",
            Self::Yellow => "\u{1b}[33m",
            Self::Red => "\u{1b}[31m",
        }
    }

    /// The text in this colour, if `on`. Nothing of the text itself steers a terminal.
    pub fn paint(self, text: &str, on: bool) -> String {
        let text = plain_lines(text);
        if on { format!("{}{text}{RESET}", self.sequence()) } else { text.into_owned() }
    }
}

/// Whether standard output takes colours: a terminal, unless `NO_COLOR` is set to something.
pub fn colours() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !refused
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn i15_yaml_says_the_same_without_steering_a_terminal() {
        for text in [
            "plain",
            "two\nlines\n",
            "a\tb",
            "\u{1b}[2J\u{9b}\u{7f}\r",
            "a\u{202e}b",
            "\u{200f}\n\u{2066}",
            "\u{2028}\u{85}",
        ] {
            let value = json!({ "name": [text], format!("{text}:"): { "nested": text } });
            let yaml = structured(Format::Yaml, &value).unwrap();
            assert!(matches!(plain_lines(&yaml), Cow::Borrowed(_)), "{yaml:?}");
            assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), value, "{yaml}");
        }
        assert_eq!(structured(Format::Yaml, &json!({ "name": "\u{5d0}" })).as_deref(), Some("name: \u{5d0}"));
    }
}
