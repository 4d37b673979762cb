//! The report of a command: for people a table of its rows and what belongs below, for programs the same rows
//! as JSON or YAML.

use serde_json::Value;

use crate::output::{Colour, Format, OutputArgs, colours, print, structured};
use crate::table::painted;

/// How a text is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Whether more is asked for, by `-o wide`.
    pub wide: bool,
    /// Whether the output takes colours.
    pub colours: bool,
}

/// What a command reports.
pub trait Report {
    /// The report for programs. Its names are part of the interface.
    fn json(&self) -> Value;

    /// The report for people.
    fn text(&self, look: Look) -> String;

    /// The report in that format.
    fn print(&self, format: Format, colours: bool) -> String {
        let look = Look { wide: format == Format::Wide, colours };
        structured(format, &self.json()).unwrap_or_else(|| self.text(look))
    }
}

impl OutputArgs {
    /// Prints a report in the format that is asked for, on standard output.
    pub fn print(self, report: &impl Report) -> std::io::Result<()> {
        print(&report.print(self.format(), colours()))
    }
}

/// A row of a report: each of its fields is written once, for the table and for programs.
pub trait Row: Sized + 'static {
    /// The fields, in the order of the columns.
    const FIELDS: &'static [Field<Self>];
}

/// A field of a row: a column of the table, a name for programs, or both.
pub struct Field<R> {
    name: Option<&'static str>,
    title: Option<&'static str>,
    value: fn(&R) -> Value,
    colour: fn(&R) -> Option<Colour>,
    /// Whether the column is shown with `-o wide` only, or only without; `None` for both.
    wide: Option<bool>,
}

impl<R> Field<R> {
    /// A field with that name for programs and that title in the table.
    pub const fn new(name: &'static str, title: &'static str, value: fn(&R) -> Value) -> Self {
        Self { name: Some(name), ..Self::column(title, value) }
    }

    /// A field for programs alone.
    pub const fn named(name: &'static str, value: fn(&R) -> Value) -> Self {
        Self { name: Some(name), title: None, value, colour: |_| None, wide: None }
    }

    /// A column alone. A cell without a value, or with an empty text, is printed as a dash.
    pub const fn column(title: &'static str, value: fn(&R) -> Value) -> Self {
        Self { name: None, title: Some(title), value, colour: |_| None, wide: None }
    }

    /// The field, with its column with `-o wide` only.
    #[must_use]
    pub const fn wide(self) -> Self {
        Self { wide: Some(true), ..self }
    }

    /// The field, with its column without `-o wide` only: a wide one says the same in more words.
    #[must_use]
    pub const fn narrow(self) -> Self {
        Self { wide: Some(false), ..self }
    }

    /// The field, with the cells of its column in colours.
    #[must_use]
    pub const fn painted(self, colour: fn(&R) -> Option<Colour>) -> Self {
        Self { colour, ..self }
    }
}

/// The rows for programs.
pub fn list_of<'a, R: Row>(rows: impl IntoIterator<Item = &'a R>) -> Value {
    let mut list = Vec::new();
    for row in rows {
        let named = R::FIELDS.iter().filter_map(|field| Some((field.name?, field)));
        list.push(named.map(|(name, field)| (name.to_owned(), (field.value)(row))).collect::<Value>());
    }
    Value::Array(list)
}

/// The table of these rows. Without rows, it is its header.
pub fn table_of<'a, R: Row>(rows: impl IntoIterator<Item = &'a R>, look: Look) -> String {
    let shown = R::FIELDS.iter().filter(|field| field.wide.is_none_or(|wide| wide == look.wide));
    let (titles, columns): (Vec<String>, Vec<&Field<R>>) =
        shown.filter_map(|field| Some((field.title?.to_owned(), field))).unzip();
    let rows: Vec<&R> = rows.into_iter().collect();
    let cells = rows.iter().map(|row| columns.iter().map(|field| cell((field.value)(row))).collect());
    let cells: Vec<Vec<String>> = std::iter::once(titles).chain(cells).collect();
    painted(&cells, |row, column| {
        let row = rows.get(row.checked_sub(1)?)?;
        if look.colours { (columns[column].colour)(row) } else { None }
    })
}

fn cell(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        value => value.to_string(),
    }
}

/// The table of these rows; empty without rows.
pub fn table_of_any<'a, R: Row>(rows: impl IntoIterator<Item = &'a R>, look: Look) -> String {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_none() { String::new() } else { table_of(rows, look) }
}

/// The parts of a text with a blank line between them; empty ones are left out.
pub fn parts(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Plane {
        name: &'static str,
        problem: Option<&'static str>,
    }

    impl Row for Plane {
        const FIELDS: &'static [Field<Self>] = &[
            Field::new("name", "NAME", |plane| json!(plane.name)),
            Field::column("WELL", |plane: &Self| json!(plane.problem.is_none())).narrow(),
            Field::new("length", "LENGTH", |plane: &Self| json!(plane.name.len())).wide(),
            Field::named("known", |_| json!(true)),
            Field::new("problem", "PROBLEM", |plane: &Self| json!(plane.problem))
                .painted(|plane| plane.problem.map(|_| Colour::Red)),
        ];
    }

    struct Planes(Vec<Plane>);

    impl Report for Planes {
        fn json(&self) -> Value {
            json!({ "planes": list_of(&self.0) })
        }

        fn text(&self, look: Look) -> String {
            parts([table_of(&self.0, look), table_of_any(&self.0[..0], look), "two planes".to_owned()])
        }
    }

    #[test]
    fn u4_a_report_has_the_fields_of_its_format_and_the_colours_of_a_terminal() {
        let planes =
            Planes(vec![Plane { name: "a", problem: None }, Plane { name: "bee", problem: Some("late") }]);
        let narrow = "NAME   WELL    PROBLEM\na      true    -\nbee    false   late\n\ntwo planes";
        let red = narrow.replace("late", "\u{1b}[31mlate\u{1b}[0m");
        let wide = "NAME   LENGTH   PROBLEM\na      1        -\nbee    3        late\n\ntwo planes";
        assert_eq!(planes.print(Format::Table, false), narrow);
        assert_eq!(planes.print(Format::Table, true), red);
        assert_eq!(planes.print(Format::Wide, false), wide);
        let expected = json!({"planes": [
            {"name": "a", "length": 1, "known": true, "problem": null},
            {"name": "bee", "length": 3, "known": true, "problem": "late"},
        ]});
        assert_eq!(planes.print(Format::Json, true), format!("{expected:#}"));
        assert_eq!(table_of(&planes.0[..0], Look::default()), "NAME   WELL   PROBLEM", "without rows");
    }
}
