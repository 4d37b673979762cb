//! Cells that are cut so that their table fits a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a terminal between two columns of a table.
const GAP: usize = 3;

/// The end of a text that is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The end: of a list, of a sentence.
    End,
    /// The beginning: of an image, the tag of which says most.
    Start,
}

/// How narrow a column may become, and which end of its cells is cut then.
pub type Cuttable = Option<(Cut, usize)>;

/// Columns of a terminal that a table takes.
pub fn width_of(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// How wide each column is, and how narrow it may become: no narrower than its header.
pub fn widths(rows: &[Vec<String>], cuts: &[Cuttable]) -> (Vec<usize>, Vec<usize>) {
    let header = |at: usize| rows.first().map_or(0, |header| header[at].width());
    let is: Vec<usize> =
        (0..cuts.len()).map(|at| rows.iter().map(|row| row[at].width()).max().unwrap_or_default()).collect();
    let least = |at: usize| cuts[at].map_or(is[at], |(_, least)| least.max(header(at)).min(is[at]));
    let least = (0..cuts.len()).map(least).collect();
    (is, least)
}

/// Cuts cells of the columns that allow it, the widest column first, until the table takes at most `width`
/// columns of a terminal, or nothing more can be cut.
pub fn fit(rows: &mut [Vec<String>], cuts: &[Cuttable], width: usize) {
    let (mut widths, least) = widths(rows, cuts);
    loop {
        let excess = width_of(&widths).saturating_sub(width);
        let widest = (0..cuts.len()).filter(|&at| widths[at] > least[at]).max_by_key(|&at| widths[at]);
        let Some(at) = widest.filter(|_| excess > 0) else { break };
        // The widest column is cut down to the next one, then both together.
        let next = (0..cuts.len()).filter(|&other| other != at && widths[other] > least[other]);
        let next = next.map(|other| widths[other]).filter(|&other| other < widths[at]).max();
        let floor = least[at].max(next.unwrap_or_default()).min(widths[at] - 1);
        widths[at] = floor.max(widths[at] - excess.min(widths[at]));
    }
    for row in rows {
        for (at, cut) in cuts.iter().enumerate() {
            if let Some((cut, _)) = *cut
                && row[at].width() > widths[at]
            {
                row[at] = shortened(&row[at], widths[at], cut);
            }
        }
    }
}

/// The text in at most `width` columns of a terminal, with an ellipsis where the rest was.
fn shortened(text: &str, width: usize, cut: Cut) -> String {
    let room = width.saturating_sub(1);
    let mut taken = 0;
    let mut fits = |character: &char| {
        taken += character.width().unwrap_or_default();
        taken <= room
    };
    match cut {
        Cut::End => text.chars().take_while(&mut fits).chain(['…']).collect(),
        Cut::Start => {
            let mut kept: Vec<char> = text.chars().rev().take_while(&mut fits).collect();
            kept.push('…');
            kept.into_iter().rev().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Cuttable = Some((Cut::Start, 8));
    const END: Cuttable = Some((Cut::End, 8));

    fn fitted(rows: &[&[&str]], cuts: &[Cuttable], width: usize) -> Vec<Vec<String>> {
        let mut rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|&cell| cell.to_owned()).collect()).collect();
        fit(&mut rows, cuts, width);
        rows
    }

    #[test]
    fn the_widest_column_is_cut_first_and_names_never_are() {
        let rows: &[&[&str]] = &[
            &["NAME", "IMAGE", "CITIES"],
            &["a-name-that-is-not-cut", "registry.example/acme/web:v1.2.3", "DFW, ORD, AMS, FRA"],
        ];
        let cuts = [None, START, END];
        assert_eq!(fitted(rows, &cuts, 200)[1][1], rows[1][1], "there is room");
        let cut = fitted(rows, &cuts, 60);
        assert_eq!(cut[1], ["a-name-that-is-not-cut", "…e/acme/web:v1.2.3", "DFW, ORD, AMS…"]);
        let cut = fitted(rows, &cuts, 20);
        assert_eq!(cut[1], ["a-name-that-is-not-cut", "…:v1.2.3", "DFW, OR…"], "no narrower than this");
    }

    #[test]
    fn wide_characters_count_for_two() {
        let cut = fitted(&[&["NAME", "WORDS"], &["a", "東京都渋谷区道玄坂"]], &[None, END], 18);
        assert_eq!(cut[1][1], "東京都渋谷…");
        assert_eq!(cut[1][1].width(), 18 - 7);
    }
}
