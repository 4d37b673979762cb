//! As much of Markdown as the documents use: headings, tables, links, and code that is none of these.

use std::collections::BTreeMap;

/// A document without the content of its code blocks; code spans stay.
pub fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut blank = true;
    let mut indented = false;
    let mut prose = String::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        // Indented code follows an empty line; an indented line after text goes on with a list.
        indented = line.starts_with("    ") && (blank || indented);
        blank = line.trim().is_empty();
        if !fenced && !fence && !indented {
            prose.push_str(line);
        }
        prose.push('\n');
        fenced ^= fence;
    }
    prose
}

/// Returns the prose without code spans.
fn plain(text: &str) -> String {
    prose(text).split('`').step_by(2).collect()
}

/// The anchors of a document's headings, as forges make them.
pub fn anchors(text: &str) -> Vec<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let prose = prose(text);
    let headings =
        prose.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#'));
    let anchors = headings.map(|heading| {
        let anchor: String = heading
            .trim()
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
                _ => None,
            })
            .collect();
        let times = seen.entry(anchor.clone()).or_default();
        *times += 1;
        if *times == 1 { anchor } else { format!("{anchor}-{}", *times - 1) }
    });
    anchors.collect()
}

/// The targets of a document's links and pictures.
pub fn links(text: &str) -> Vec<String> {
    let plain = plain(text);
    let inline = plain.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let definitions = plain.lines().filter(|line| line.starts_with('['));
    let definitions = definitions.filter_map(|line| line.split_once("]: ").map(|(_, target)| target));
    inline
        .chain(definitions)
        .map(|target| target.split_whitespace().next().unwrap_or_default().to_owned())
        .collect()
}

/// The rows of the tables of a document, cell by cell, without headings and rules.
pub fn rows(text: &str) -> Vec<Vec<String>> {
    let is_rule = |line: &&str| line.trim_matches(['|', '-', ':', ' ']).is_empty() && line.contains("--");
    let prose = prose(text);
    let lines: Vec<&str> = prose.lines().collect();
    let is_heading = |at: usize| lines.get(at + 1).is_some_and(is_rule);
    let rows = lines
        .iter()
        .enumerate()
        .filter(|(at, line)| line.starts_with('|') && !is_rule(line) && !is_heading(*at));
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
        inner.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    rows.map(|(_, line)| cells(line)).collect()
}

/// The code spans of a text.
pub fn code(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The part of a document below a heading of the second level.
pub fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, below) =
        text.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    below.split("\n## ").next().unwrap_or_default()
}

#[test]
fn documents_are_read_as_forges_render_them() {
    let text = "# A `b` c!\n\n[x](y.md#z) `[no](link)`\n\n    # no [heading](n)\n\n## A b c\n\n```sh\n# none\n```\n- [l](m)\n\n[r]: s\n\n\
                | h | i |\n|---|---|\n| `j` | k |\n";
    assert_eq!(anchors(text), ["a-b-c", "a-b-c-1"]);
    assert_eq!(links(text), ["y.md#z", "m", "s"]);
    assert_eq!(rows(text), [["`j`", "k"]]);
    assert_eq!(code("a `b` c `d`"), ["b", "d"]);
    assert_eq!(section("\n## A\nb\n## C\nd", "A"), "b");
}
