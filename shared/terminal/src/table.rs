//! Tables as kubectl prints them: columns padded to their widest cell as a terminal shows it, three spaces
//! between.

use jiff::Timestamp;
use unicode_width::UnicodeWidthStr;

use crate::output::Colour;
use crate::plain;

/// The rows, the first of which is the header. An empty cell is printed as a dash. Nothing in a cell steers a
/// terminal.
pub fn table(rows: &[Vec<String>]) -> String {
    painted(rows, |_, _| None)
}

/// Like [`table`], but with the cells in colours, which `colour` chooses by row and column.
pub fn painted(rows: &[Vec<String>], colour: impl Fn(usize, usize) -> Option<Colour>) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            row.iter()
                .map(|cell| if cell.is_empty() { "-".to_owned() } else { plain(cell).into_owned() })
                .collect()
        })
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let cell = |at: usize, column: usize, text: &str| {
        let spaces = &pad(text, widths[column])[text.len()..];
        let painted = colour(at, column).map(|colour| colour.paint(text, true));
        format!("{}{spaces}", painted.as_deref().unwrap_or(text))
    };
    rows.iter()
        .enumerate()
        .map(|(at, row)| {
            let padded = row.iter().enumerate().map(|(column, text)| cell(at, column, text));
            padded.collect::<Vec<_>>().join("   ").trim_end().to_owned()
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// The text with spaces behind it, so that it takes that many columns of a terminal.
pub fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// `1 plane`, `2 planes`.
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The seconds since then; none of what is to come.
pub fn seconds(since: Timestamp, now: Timestamp) -> i64 {
    now.duration_since(since).as_secs().max(0)
}

/// The time since then as kubectl prints ages.
pub fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = seconds(since, now);
    let minutes = seconds / 60;
    let hours = seconds / 3600;
    let days = seconds / 86400;
    match (minutes, hours, days) {
        (0..2, ..) => format!("{seconds}s"),
        (2..10, ..) if seconds % 60 > 0 => format!("{minutes}m{}s", seconds % 60),
        (_, 0..3, _) => format!("{minutes}m"),
        (_, 3..8, _) if minutes % 60 > 0 => format!("{hours}h{}m", minutes % 60),
        (_, _, 0..2) => format!("{hours}h"),
        (_, _, 2..8) if hours % 24 > 0 => format!("{days}d{}h", hours % 24),
        _ => format!("{days}d"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u4_columns_are_padded_and_empty_cells_are_dashes() {
        let rows = [["A", "BB"], ["long", ""], ["x", "ü"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "A      BB\nlong   -\nx      ü");
        assert_eq!(table(&[]), "");
        let wide =
            [["東京", "B"], ["long", "C"], ["e\u{301}", "D"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&wide), "東京   B\nlong   C\ne\u{301}      D");
    }

    #[test]
    fn i15_a_cell_can_neither_paint_nor_begin_a_row() {
        let rows = [["A"], ["\u{1b}[32mgood\u{1b}[0m\nB"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "A\n\\u{1b}[32mgood\\u{1b}[0m\\u{a}B");
        let red = painted(&rows, |row, _| (row == 1).then_some(Colour::Red));
        assert_eq!(red, "A\n\u{1b}[31m\\u{1b}[32mgood\\u{1b}[0m\\u{a}B\u{1b}[0m");
    }

    #[test]
    fn u4_ages_are_printed_as_kubectl_prints_them() {
        let now: Timestamp = "2026-01-20T00:00:00Z".parse().unwrap();
        for (seconds, expected) in [
            (-5, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (150, "2m30s"),
            (660, "11m"),
            (3 * 3600, "3h"),
            (3 * 3600 + 300, "3h5m"),
            (9 * 3600 + 300, "9h"),
            (47 * 3600, "47h"),
            (50 * 3600, "2d2h"),
            (9 * 86400 + 3600, "9d"),
        ] {
            let since = now - jiff::SignedDuration::from_secs(seconds);
            assert_eq!(age(since, now), expected, "{seconds}");
        }
    }
}
