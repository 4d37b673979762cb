//! Tables as kubectl prints them: columns padded to their widest cell, three spaces between.

/// The rows, the first of which is the header. An empty cell is printed as a dash.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let shown = |cell: &String| if cell.is_empty() { "-".to_owned() } else { cell.clone() };
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(shown).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let padded = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("   ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// `1 plane`, `2 planes`.
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u4_columns_are_padded_and_empty_cells_are_dashes() {
        let rows = [["A", "BB"], ["long", ""], ["x", "ü"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "A      BB\nlong   -\nx      ü");
        assert_eq!(table(&[]), "");
    }
}
