//! Words and lines.

use fedhub_terminal::plain;
use fedhub_terminal::table::pad;
use unicode_width::UnicodeWidthStr;

use super::Look;
use super::sheet::Cell;

/// The words of a text in lines of at most `width` columns of a terminal, every line behind `indent` spaces; one line
/// where there is no `width`. A word is never cut.
pub fn wrapped(text: &str, indent: usize, width: Option<usize>) -> String {
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(indent).max(1));
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let margin = " ".repeat(indent);
    lines.iter().map(|line| format!("{margin}{line}")).collect::<Vec<_>>().join("\n")
}

/// Labels with what they say, a line each, in two columns; what is too long goes on in the second.
pub fn labelled(lines: &[(&str, Cell)], indent: usize, look: &Look) -> String {
    let column = lines.iter().map(|(label, _)| label.width()).max().unwrap_or_default() + 2;
    let margin = " ".repeat(indent);
    let line = |(label, cell): &(&str, Cell)| {
        let text = wrapped(&plain(&cell.text), indent + column, look.terminal.width);
        let colour = cell.colour.filter(|_| look.terminal.colours);
        let painted = colour.map(|colour| colour.paint(text.trim_start(), true));
        let text = painted.as_deref().unwrap_or(text.trim_start());
        format!("{margin}{}{text}", pad(label, column)).trim_end().to_owned()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// `a, b and c`.
pub fn listed(items: &[&str]) -> String {
    match items {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A reason in CamelCase as words: `NetworkNotFound` is `network not found`.
pub fn spaced(reason: &str) -> String {
    let mut words = String::new();
    for (at, character) in reason.char_indices() {
        let begins = character.is_uppercase()
            && (reason[at + character.len_utf8()..].starts_with(char::is_lowercase)
                || reason[..at].ends_with(char::is_lowercase));
        if at > 0 && begins {
            words.push(' ');
        }
        words.extend(character.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use fedhub_terminal::Terminal;
    use fedhub_terminal::output::Colour;

    use super::*;

    #[test]
    fn words_are_wrapped_at_the_terminals_width() {
        assert_eq!(wrapped("one two three", 2, Some(9)), "  one two\n  three");
        assert_eq!(wrapped("one two three", 2, None), "  one two three");
        assert_eq!(wrapped("東京 大阪 名古屋", 0, Some(9)), "東京 大阪\n名古屋");
        assert_eq!(wrapped("https://a.long.example/path", 1, Some(8)), " https://a.long.example/path");
        assert_eq!(wrapped("", 3, Some(8)), "");
    }

    #[test]
    fn labels_stand_in_a_column_of_their_own() {
        let terminal = Terminal { width: Some(12), ..Terminal::default() };
        let look = Look { terminal, ..Look::default() };
        let lines = [("Image", "a b".into()), ("Port", "".into()), ("City", "DFW ORD".into())];
        assert_eq!(labelled(&lines, 1, &look), " Image  a b\n Port\n City   DFW\n        ORD");
    }

    #[test]
    fn what_others_wrote_beside_a_label_is_plain_and_only_this_program_paints() {
        let lines = [("City", "\u{1b}[31mDFW\nORD".into()), ("Is", Cell::of("up", Some(Colour::Green)))];
        assert_eq!(labelled(&lines, 0, &Look::default()), "City  \\u{1b}[31mDFW\\u{a}ORD\nIs    up");
        let terminal = Terminal { colours: true, ..Terminal::default() };
        let painted = labelled(&lines[1..], 0, &Look { terminal, ..Look::default() });
        assert_eq!(painted, "Is  \u{1b}[32mup\u{1b}[0m");
    }

    #[test]
    fn a_reason_is_said_in_words() {
        for (reason, words) in [
            ("NetworkNotFound", "network not found"),
            ("QuotaProjectIDUnresolvable", "quota project id unresolvable"),
            ("Pending", "pending"),
            ("", ""),
        ] {
            assert_eq!(spaced(reason), words);
        }
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
    }
}
