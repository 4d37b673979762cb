//! What the demonstration prints.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use crate::output::say;

/// The time of each hop, in the order of the way.
pub type Hops = Vec<(String, Duration)>;

/// Speaks on standard output; in colour only where that is a terminal that has not asked for none.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    coloured: bool,
}

impl Printer {
    /// Creates a printer on standard output.
    pub fn stdout() -> Self {
        let coloured = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { coloured }
    }

    /// The head of a part, after an empty line.
    pub fn head(self, text: &str) {
        say(format_args!("\n{}", self.paint("1", text)));
    }

    /// Something that is about to be done, and by whom.
    pub fn act(self, who: &str, what: &str) {
        say(format_args!("{:>22}{} {}", "", self.paint("36", &format!("{who:<11}")), self.paint("36", what)));
    }

    /// Something that was seen: how long the hop took, how long it is since the cause, where, what.
    pub fn saw(self, hop: Duration, since: Duration, plane: &str, what: &str) {
        let hop = self.paint("32", &format!("{:>9}", millis(hop)));
        let since = self.paint("2", &format!("{:>10}", millis(since)));
        say(format_args!("{hop} {since}  {plane:<11} {what}"));
    }

    /// A step that was not seen.
    pub fn missed(self, text: &str) {
        say(self.paint("31", text));
    }

    /// The end of a part that went well.
    pub fn well(self, text: &str) {
        say(self.paint("32", text));
    }

    /// Prints the time of each hop, a column for each of the ways, which have the same hops.
    pub fn table(self, ways: &[(&str, Hops)]) {
        for line in table(ways) {
            self.well(&line);
        }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

fn table(ways: &[(&str, Hops)]) -> Vec<String> {
    let labels = ways.first().map(|(_, hops)| hops.iter().map(|(label, _)| &**label)).into_iter().flatten();
    let row = |label: &str, cells: Vec<String>| {
        let cells: Vec<_> = cells.iter().map(|cell| format!("{cell:>11}")).collect();
        format!("  {label:<48}{}", cells.concat()).trim_end().to_owned()
    };
    let head = row("", ways.iter().map(|(way, _)| (*way).to_owned()).collect());
    let rows = labels.enumerate().map(|(index, label)| {
        let took =
            |(_, hops): &(&str, Hops)| hops.get(index).map(|(_, took)| millis(*took)).unwrap_or_default();
        row(label, ways.iter().map(took).collect())
    });
    std::iter::once(head).chain(rows).collect()
}

/// A span in whole milliseconds.
pub fn millis(span: Duration) -> String {
    format!("{} ms", span.as_millis())
}

/// A path from the current directory, where it is below that.
pub fn relative(path: PathBuf) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(&path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_only_where_asked_for() {
        assert_eq!(Printer { coloured: false }.paint("1", "x"), "x");
        assert_eq!(Printer { coloured: true }.paint("1", "x"), "\x1b[1mx\x1b[0m");
    }

    #[test]
    fn a_table_has_a_column_for_each_way() {
        let hops = |took: [u64; 2]| -> Hops {
            let labels = ["down".to_owned(), "back".to_owned()];
            labels.into_iter().zip(took.map(Duration::from_millis)).collect()
        };
        let lines = table(&[("DFW", hops([5, 12])), ("ORD", hops([7, 1234]))]);
        let words: Vec<Vec<_>> = lines.iter().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            words,
            [&["DFW", "ORD"][..], &["down", "5", "ms", "7", "ms"], &["back", "12", "ms", "1234", "ms"]]
        );
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{lines:#?}");
        assert!(table(&[]).concat().is_empty());
    }
}
