//! Labels and what they say, in two columns.

use fedhub_terminal::plain;
use fedhub_terminal::table::pad;
use unicode_width::UnicodeWidthStr;

use super::Look;
use super::sheet::Cell;
use super::text::wrapped;

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

#[cfg(test)]
mod tests {
    use fedhub_terminal::Terminal;
    use fedhub_terminal::output::Colour;

    use super::*;

    #[test]
    fn labels_stand_in_a_column_of_their_own() {
        let terminal = Terminal { width: Some(12), ..Terminal::default() };
        let look = Look { terminal, ..Look::default() };
        let lines = [("Image", "a b".into()), ("Port", "".into()), ("City", "DFW ORD".into())];
        assert_eq!(labelled(&lines, 1, &look), " Image  a b\n Port\n City   DFW\n        ORD");
    }

    #[test]
    fn what_others_wrote_beside_a_label_is_plain_and_only_this_program_paints() {
        let lines = [("City", "\u{1b}[31mDFW\nORD".into()), ("Is", Cell::new("up", Some(Colour::Green)))];
        assert_eq!(labelled(&lines, 0, &Look::default()), "City  \\u{1b}[31mDFW\\u{a}ORD\nIs    up");
        let terminal = Terminal { colours: true, ..Terminal::default() };
        let painted = labelled(&lines[1..], 0, &Look { terminal, ..Look::default() });
        assert_eq!(painted, "Is  \u{1b}[32mup\u{1b}[0m");
    }
}
