//! Tables of documents that are written from the code.

use std::path::Path;
use std::{env, fs};

/// Compares the table below `header` in a document of the repository with these rows. `UPDATE_REASONS=1`
/// writes it anew instead.
pub fn assert_table(path: &str, header: &str, rows: impl IntoIterator<Item = Vec<String>>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let document = fs::read_to_string(&file).unwrap();
    assert!(document.contains(&format!("{header}\n")), "{path} has no table below {header}");
    let (before, rest) = document.split_once(&format!("{header}\n")).unwrap();
    let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
    let rule = "|---".repeat(header.matches(" | ").count() + 1);
    let rows = rows.into_iter().fold(String::new(), |rows, row| rows + "| " + &row.join(" | ") + " |\n");
    let gap = if after.is_empty() { "" } else { "\n" };
    let expected = format!("{before}{header}\n{rule}|\n{rows}{gap}{after}");
    if env::var_os("UPDATE_REASONS").is_some() {
        fs::write(file, expected).unwrap();
    } else {
        assert_eq!(document, expected, "{path} is not what `make messages` writes");
    }
}
