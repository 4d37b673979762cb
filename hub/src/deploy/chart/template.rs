//! A tree as a template of Helm.

use std::fmt::Write;

use serde_json::Value;

use super::tree::{Part, Tree, When};

/// What a template has in place of values.
pub struct Parameters<'a> {
    /// The expression that says whether a component is wanted.
    pub wants: &'a dyn Fn(&str) -> &'static str,
    /// The template in place of a scalar, by its path in the object and its value.
    pub scalar: &'a dyn Fn(&str, &Value) -> Option<String>,
    /// The template of a whole field, or what is added below one.
    pub field: &'a dyn Fn(&str) -> Option<Field>,
}

/// A template of a field of a map.
pub enum Field {
    /// It has this value, which is written by itself, on lines of its own.
    Is(&'static str),
    /// This comes after what it has.
    And(&'static str),
    /// This comes after it, beside it.
    Then(&'static str),
}

/// The template of one object.
pub fn object(tree: &Tree, parameters: &Parameters<'_>) -> String {
    let mut writer = Writer { out: String::new(), parameters };
    writer.tree(tree, "", 0);
    writer.out
}

/// Opens and closes what is there at times only.
pub fn guarded(when: &When, parameters: &Parameters<'_>, content: &str) -> String {
    condition(when, parameters.wants).map_or_else(
        || content.to_owned(),
        |condition| format!("{{{{- if {condition} }}}}\n{content}{{{{- end }}}}\n"),
    )
}

fn condition(when: &When, wants: &dyn Fn(&str) -> &'static str) -> Option<String> {
    let any = |components: &[&str]| match components {
        [one] => wants(one).to_owned(),
        all => {
            let all: Vec<_> = all.iter().map(|one| format!("({})", wants(one))).collect();
            format!("or {}", all.join(" "))
        }
    };
    match when {
        When::Always => None,
        When::With(components) => Some(any(components)),
        When::Without(components) => Some(format!("not ({})", any(components))),
    }
}

struct Writer<'a> {
    out: String,
    parameters: &'a Parameters<'a>,
}

impl Writer<'_> {
    /// What follows the name of a field, or the dash of an item, at this indentation.
    fn tree(&mut self, tree: &Tree, path: &str, by: usize) {
        match tree {
            Tree::Scalar(value) => self.scalar(value, path),
            Tree::Map(fields) if fields.is_empty() => self.out.push_str(" {}\n"),
            Tree::List(items) if items.is_empty() => self.out.push_str(" []\n"),
            Tree::Map(fields) => {
                if !path.is_empty() {
                    self.out.push('\n');
                }
                for (name, part) in fields {
                    self.field(name, part, &format!("{path}/{name}"), by);
                }
            }
            Tree::List(items) => {
                self.out.push('\n');
                for (at, part) in items.iter().enumerate() {
                    self.item(part, &format!("{path}/{at}"), by);
                }
            }
        }
    }

    fn scalar(&mut self, value: &Value, path: &str) {
        let text = (self.parameters.scalar)(path, value).unwrap_or_else(|| plain(value));
        let _ = writeln!(self.out, " {text}");
    }

    fn field(&mut self, name: &str, part: &Part<Tree>, path: &str, by: usize) {
        let content = self.within(|writer| {
            let _ = write!(writer.out, "{:by$}{}:", "", plain(&name.into()));
            match (writer.parameters.field)(path) {
                Some(Field::Is(template)) => writer.template(template, by + 2),
                other => {
                    writer.tree(&part.of, path, by + 2);
                    match other {
                        Some(Field::And(template)) => writer.lines(template, by + 2),
                        Some(Field::Then(template)) => writer.lines(template, by),
                        _ => {}
                    }
                }
            }
        });
        self.guarded(&sometimes(part), &content);
    }

    fn template(&mut self, template: &str, by: usize) {
        self.out.push('\n');
        self.lines(template, by);
    }

    /// Lines of a template; `INDENT` in them is their indentation.
    fn lines(&mut self, template: &str, by: usize) {
        for line in template.lines() {
            let by_line = if line.starts_with("{{-") { 0 } else { by };
            let _ = writeln!(self.out, "{:by_line$}{}", "", line.replace("INDENT", &by.to_string()));
        }
    }

    fn item(&mut self, part: &Part<Tree>, path: &str, by: usize) {
        let content = self.within(|writer| {
            let below = writer.within(|writer| writer.tree(&part.of, path, by + 2));
            // A map begins on the line of its dash.
            assert!(!below.starts_with("\n{{"), "{path} begins with what is there at times only");
            let first = below.strip_prefix('\n').map(|rest| format!(" {}", rest.trim_start_matches(' ')));
            let _ = write!(writer.out, "{:by$}-{}", "", first.unwrap_or(below));
        });
        self.guarded(&part.when, &content);
    }

    fn guarded(&mut self, when: &When, content: &str) {
        let content = guarded(when, self.parameters, content);
        self.out.push_str(&content);
    }

    /// What is written meanwhile.
    fn within(&mut self, write: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.out);
        write(self);
        std::mem::replace(&mut self.out, before)
    }
}

/// A list is not there where none of its items is. Where one goes with a component it may be empty.
fn sometimes(part: &Part<Tree>) -> When {
    let Tree::List(items) = &part.of else { return part.when.clone() };
    if part.when != When::Always || items.is_empty() {
        return part.when.clone();
    }
    let mut any = Vec::new();
    for item in items {
        match &item.when {
            When::With(components) => any.extend(components.iter().copied()),
            When::Always | When::Without(_) => return When::Always,
        }
    }
    any.sort_unstable();
    any.dedup();
    When::With(any)
}

/// A scalar as YAML has it.
fn plain(value: &Value) -> String {
    let Value::String(text) = value else { return value.to_string() };
    assert!(!text.contains("{{"), "{text:?} would be a template");
    let is_word = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
        && text.chars().all(|one| one.is_ascii_alphanumeric() || "-_./".contains(one))
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .contains(&text.to_lowercase().as_str());
    if is_word { text.clone() } else { value.to_string() }
}
