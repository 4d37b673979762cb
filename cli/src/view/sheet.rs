//! Tables whose columns say which of them may be cut to the terminal's width.

use fedhub_terminal::output::Colour;
use fedhub_terminal::table::painted;
use fedhub_terminal::{Terminal, plain};
use unicode_width::UnicodeWidthStr;

use super::Look;
pub use super::fit::Cut;
use super::fit::{Cuttable, fit, width_of, widths};
use super::text::wrapped;

/// How narrow a column becomes that says nothing else.
const NARROWEST: usize = 8;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    title: &'static str,
    cut: Cuttable,
    rank: Rank,
}

/// When a column is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Always.
    Needed,
    /// Unless the terminal is too narrow: those with higher numbers go first.
    Optional(u8),
    /// Shown with `--output wide` only.
    Wide,
}

impl Column {
    /// Creates a column that is never cut: what a user copies.
    pub const fn whole(title: &'static str) -> Self {
        Self { title, cut: None, rank: Rank::Needed }
    }

    /// Creates a column that is cut on a narrow terminal.
    pub const fn cut(title: &'static str, cut: Cut) -> Self {
        Self { title, cut: Some((cut, NARROWEST)), rank: Rank::Needed }
    }

    /// Sets the width, in columns of the terminal, below which the column is not cut.
    #[must_use]
    pub const fn at_least(self, least: usize) -> Self {
        match self.cut {
            Some((cut, _)) => Self { cut: Some((cut, least)), ..self },
            None => self,
        }
    }

    /// Omits the column if the terminal is too narrow; columns with a higher `order` are omitted first.
    #[must_use]
    pub const fn optional(self, order: u8) -> Self {
        Self { rank: Rank::Optional(order), ..self }
    }

    /// Shows the column with `--output wide` only.
    #[must_use]
    pub const fn wide(self) -> Self {
        Self { rank: Rank::Wide, ..self }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The text of the cell.
    pub text: String,
    /// How it is painted where colours are.
    pub colour: Option<Colour>,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, colour: None }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cell {
    /// A cell in that colour.
    pub fn new(text: impl Into<String>, colour: Option<Colour>) -> Self {
        Self { text: text.into(), colour }
    }
}

/// The table of these columns; each row has a cell for every column. With `--output wide` there are all of
/// them, and nothing is cut.
pub fn sheet(columns: &[Column], rows: Vec<Vec<Cell>>, look: &Look) -> String {
    let header: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    let body = rows.iter().map(|row| row.iter().map(|cell| plain(&cell.text).into_owned()).collect());
    let whole: Vec<Vec<String>> = std::iter::once(header).chain(body).collect();
    let width = look.terminal.width.filter(|_| !look.is_wide());
    let shown = shown(columns, &whole, width, look.is_wide());
    let mut texts: Vec<Vec<String>> =
        whole.iter().map(|row| shown.iter().map(|&at| row[at].clone()).collect()).collect();
    if let Some(width) = width {
        let cuts: Vec<Cuttable> = shown.iter().map(|&at| columns[at].cut).collect();
        fit(&mut texts, &cuts, width);
    }
    let first = usize::from(look.no_headers);
    let colour = |row: usize, column: usize| {
        let row = rows.get((row + first).checked_sub(1)?)?;
        row[shown[column]].colour.filter(|_| look.terminal.colours)
    };
    painted(&texts[first..], colour)
}

/// Renders a table whose last column is a sentence. If the sentences do not fit beside the other columns,
/// each is printed below its row.
pub fn annotated(
    columns: &[Column],
    title: &'static str,
    rows: Vec<(Vec<Cell>, String)>,
    look: &Look,
) -> String {
    let all: Vec<Column> = columns.iter().copied().chain([Column::whole(title)]).collect();
    let beside = |(cells, note): &(Vec<Cell>, String)| {
        cells.iter().cloned().chain([note.as_str().into()]).collect::<Vec<Cell>>()
    };
    let beside: Vec<Vec<Cell>> = rows.iter().map(beside).collect();
    let Some(width) = look.terminal.width.filter(|_| !look.is_wide()) else {
        return sheet(&all, beside, look);
    };
    let unlimited = Look { terminal: Terminal { width: None, colours: false, ..look.terminal }, ..*look };
    if sheet(&all, beside.clone(), &unlimited).lines().all(|line| line.width() <= width) {
        return sheet(&all, beside, look);
    }
    let (cells, notes): (Vec<Vec<Cell>>, Vec<String>) =
        rows.into_iter().map(|(cells, note)| (cells, plain(&note).into_owned())).unzip();
    let table = sheet(columns, cells, look);
    let header = usize::from(!look.no_headers);
    let lines = table.lines().enumerate().map(|(at, line)| {
        match at.checked_sub(header).and_then(|at| notes.get(at)) {
            Some(note) => format!("{line}\n{}", wrapped(note, 2, Some(width))),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns which columns fit, as narrow as they may become.
fn shown(columns: &[Column], rows: &[Vec<String>], width: Option<usize>, is_wide: bool) -> Vec<usize> {
    let cuts: Vec<Cuttable> = columns.iter().map(|column| column.cut).collect();
    let (_, least) = widths(rows, &cuts);
    let mut shown: Vec<usize> =
        (0..columns.len()).filter(|&at| is_wide || columns[at].rank != Rank::Wide).collect();
    while let Some(width) = width
        && width_of(&shown.iter().map(|&at| least[at]).collect::<Vec<_>>()) > width
        && let Some(&last) = shown.iter().max_by_key(|&&at| columns[at].rank)
        && columns[last].rank != Rank::Needed
    {
        shown.retain(|&at| at != last);
    }
    shown
}

#[cfg(test)]
mod tests {
    use fedhub_terminal::output::Format;

    use super::*;

    const COLUMNS: [Column; 3] =
        [Column::whole("NAME"), Column::cut("IMAGE", Cut::Start), Column::whole("TYPE").wide()];

    fn drawn(look: &Look) -> String {
        let row = [Cell::new("web", Some(Colour::Red)), "registry.example/acme/web:1".into(), "d1".into()];
        sheet(&COLUMNS, vec![row.into()], look)
    }

    #[test]
    fn u4_wide_has_all_columns_and_cuts_none() {
        let narrow = Terminal { width: Some(20), ..Terminal::default() };
        let look = Look { terminal: narrow, ..Look::default() };
        assert_eq!(drawn(&look), "NAME   IMAGE\nweb    …e/acme/web:1");
        let look = Look { format: Format::Wide, ..look };
        assert_eq!(
            drawn(&look),
            "NAME   IMAGE                         TYPE\nweb    registry.example/acme/web:1   d1"
        );
        assert_eq!(drawn(&Look { no_headers: true, ..look }), "web   registry.example/acme/web:1   d1");
        assert_eq!(drawn(&Look::default()), "NAME   IMAGE\nweb    registry.example/acme/web:1");
    }

    #[test]
    fn columns_that_are_needed_least_go_first_on_a_narrow_terminal() {
        let columns =
            [Column::whole("NAME"), Column::whole("AGE").optional(2), Column::whole("CITY").optional(1)];
        let drawn = |width| {
            let look =
                Look { terminal: Terminal { width: Some(width), ..Terminal::default() }, ..Look::default() };
            sheet(&columns, vec![vec!["web".into(), "3d".into(), "DFW".into()]], &look)
        };
        assert_eq!(drawn(17), "NAME   AGE   CITY\nweb    3d    DFW");
        assert_eq!(drawn(16), "NAME   CITY\nweb    DFW");
        assert_eq!(drawn(4), "NAME\nweb");
        assert_eq!(drawn(1), "NAME\nweb");
    }

    #[test]
    fn sentences_that_do_not_fit_stand_below_their_row() {
        let columns = [Column::whole("NAME")];
        let drawn = |width, no_headers| {
            let look =
                Look { no_headers, terminal: Terminal { width, ..Terminal::default() }, ..Look::default() };
            annotated(&columns, "WHY", vec![(vec!["web".into()], "for a reason".to_owned())], &look)
        };
        assert_eq!(drawn(None, false), "NAME   WHY\nweb    for a reason");
        assert_eq!(drawn(Some(19), false), "NAME   WHY\nweb    for a reason");
        assert_eq!(drawn(Some(12), false), "NAME\nweb\n  for a\n  reason");
        assert_eq!(drawn(Some(12), true), "web\n  for a\n  reason");
    }

    #[test]
    fn u4_cells_are_painted_without_moving_the_next_column() {
        let terminal = Terminal { colours: true, ..Terminal::default() };
        let drawn = drawn(&Look { terminal, ..Look::default() });
        assert_eq!(drawn, "NAME   IMAGE\n\u{1b}[31mweb\u{1b}[0m    registry.example/acme/web:1");
    }
}
