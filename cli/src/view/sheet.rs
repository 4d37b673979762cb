//! Tables whose columns say which of them may be cut to the terminal's width.

use fedhub_terminal::output::Colour;
use fedhub_terminal::table::painted;

use super::Look;
pub use super::fit::Cut;
use super::fit::fit;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    title: &'static str,
    cut: Option<Cut>,
    wide: bool,
}

impl Column {
    /// One that is never cut: what a user copies.
    pub const fn whole(title: &'static str) -> Self {
        Self { title, cut: None, wide: false }
    }

    /// One that is cut on a narrow terminal.
    pub const fn cut(title: &'static str, cut: Cut) -> Self {
        Self { title, cut: Some(cut), wide: false }
    }

    /// The same, with `--output wide` only.
    #[must_use]
    pub const fn wide(self) -> Self {
        Self { wide: true, ..self }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// What it says.
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
    pub fn of(text: impl Into<String>, colour: Option<Colour>) -> Self {
        Self { text: text.into(), colour }
    }
}

/// The table of these columns; each row has a cell for every column. With `--output wide` nothing is cut.
pub fn sheet(columns: &[Column], rows: Vec<Vec<Cell>>, look: &Look) -> String {
    let shown: Vec<usize> =
        (0..columns.len()).filter(|&at| look.is_wide() || !columns[at].wide).collect();
    let header = shown.iter().map(|&at| columns[at].title.to_owned()).collect();
    let body = rows.iter().map(|row| shown.iter().map(|&at| row[at].text.clone()).collect());
    let mut texts: Vec<Vec<String>> = std::iter::once(header).chain(body).collect();
    if let Some(width) = look.terminal.width.filter(|_| !look.is_wide()) {
        let cuts: Vec<Option<Cut>> = shown.iter().map(|&at| columns[at].cut).collect();
        fit(&mut texts, &cuts, width);
    }
    let first = usize::from(look.no_headers);
    let colour = |row: usize, column: usize| {
        let row = rows.get((row + first).checked_sub(1)?)?;
        row[shown[column]].colour.filter(|_| look.terminal.colours)
    };
    painted(&texts[first..], colour)
}

#[cfg(test)]
mod tests {
    use fedhub_terminal::Terminal;
    use fedhub_terminal::output::Format;

    use super::*;

    const COLUMNS: [Column; 3] =
        [Column::whole("NAME"), Column::cut("IMAGE", Cut::Start), Column::whole("TYPE").wide()];

    fn drawn(look: &Look) -> String {
        let row = [Cell::of("web", Some(Colour::Red)), "registry.example/acme/web:1".into(), "d1".into()];
        sheet(&COLUMNS, vec![row.into()], look)
    }

    #[test]
    fn u4_wide_has_all_columns_and_cuts_none() {
        let narrow = Terminal { width: Some(20), ..Terminal::default() };
        let look = Look { terminal: narrow, ..Look::default() };
        assert_eq!(drawn(&look), "NAME   IMAGE\nweb    …e/acme/web:1");
        let look = Look { format: Format::Wide, ..look };
        assert_eq!(drawn(&look), "NAME   IMAGE                         TYPE\nweb    registry.example/acme/web:1   d1");
        assert_eq!(drawn(&Look { no_headers: true, ..look }), "web   registry.example/acme/web:1   d1");
        assert_eq!(drawn(&Look::default()), "NAME   IMAGE\nweb    registry.example/acme/web:1");
    }

    #[test]
    fn u4_cells_are_painted_without_moving_the_next_column() {
        let terminal = Terminal { colours: true, ..Terminal::default() };
        let drawn = drawn(&Look { terminal, ..Look::default() });
        assert_eq!(drawn, "NAME   IMAGE\n\u{1b}[31mweb\u{1b}[0m    registry.example/acme/web:1");
    }
}
