//! Label and field selectors.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::answer::Refusal;
use crate::meta;
use crate::object::Stored;

/// The selectors of a list or a watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    labels: Vec<Requirement>,
    fields: Vec<FieldTerm>,
}

#[derive(Clone, Debug)]
enum Requirement {
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Exists(String),
    Missing(String),
}

#[derive(Clone, Debug)]
struct FieldTerm {
    field: &'static str,
    value: String,
    equal: bool,
}

impl Filter {
    /// Reads `labelSelector` and `fieldSelector`.
    pub(crate) fn parse(labels: Option<&str>, fields: Option<&str>) -> Result<Self, Refusal> {
        Ok(Self {
            labels: terms(labels.unwrap_or_default())
                .iter()
                .map(|t| requirement(t))
                .collect::<Result<_, _>>()?,
            fields: terms(fields.unwrap_or_default()).iter().map(|t| field(t)).collect::<Result<_, _>>()?,
        })
    }

    /// Whether nothing is filtered out.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether a kept object is selected; it is read only if anything is asked of it.
    pub(crate) fn selects(&self, object: &Stored) -> bool {
        self.is_empty() || self.matches(&object.value())
    }

    fn matches(&self, object: &Value) -> bool {
        self.labels.iter().all(|requirement| requirement.matches(meta::get(object, "labels")))
            && self.fields.iter().all(|term| (meta::text(object, term.field) == term.value) == term.equal)
    }
}

impl Requirement {
    fn matches(&self, labels: &Value) -> bool {
        let value = |key: &String| labels[key].as_str();
        match self {
            Self::In(key, values) => value(key).is_some_and(|v| values.contains(v)),
            Self::NotIn(key, values) => value(key).is_none_or(|v| !values.contains(v)),
            Self::Exists(key) => value(key).is_some(),
            Self::Missing(key) => value(key).is_none(),
        }
    }
}

/// Splits at the commas that are not inside brackets.
fn terms(selector: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut inside = false;
    for c in selector.chars() {
        match c {
            '(' => inside = true,
            ')' => inside = false,
            _ => {}
        }
        if c == ',' && !inside {
            terms.push(String::new());
        } else if let Some(last) = terms.last_mut() {
            last.push(c);
        }
    }
    if selector.trim().is_empty() {
        terms.clear();
    }
    terms.into_iter().map(|term| term.trim().to_owned()).collect()
}

fn requirement(term: &str) -> Result<Requirement, Refusal> {
    let refuse = || Refusal::bad_request(format!("unable to parse requirement: {term:?}"));
    let one = |value: &str| BTreeSet::from([value.trim().to_owned()]);
    let key = |key: &str| {
        let key = key.trim();
        let fine = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        if fine { Ok(key.to_owned()) } else { Err(refuse()) }
    };
    if let Some(list) = term.strip_suffix(')') {
        let (head, values) = list.split_once('(').ok_or_else(refuse)?;
        let values: BTreeSet<String> = values.split(',').map(|v| v.trim().to_owned()).collect();
        let (name, operator) = head.trim().rsplit_once(char::is_whitespace).ok_or_else(refuse)?;
        return match operator {
            "in" => Ok(Requirement::In(key(name)?, values)),
            "notin" => Ok(Requirement::NotIn(key(name)?, values)),
            _ => Err(refuse()),
        };
    }
    if let Some((name, value)) = term.split_once("!=") {
        return Ok(Requirement::NotIn(key(name)?, one(value)));
    }
    if let Some((name, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        return Ok(Requirement::In(key(name)?, one(value)));
    }
    match term.strip_prefix('!') {
        Some(name) => Ok(Requirement::Missing(key(name)?)),
        None => Ok(Requirement::Exists(key(term)?)),
    }
}

fn field(term: &str) -> Result<FieldTerm, Refusal> {
    let (name, value, equal) = if let Some((name, value)) = term.split_once("!=") {
        (name, value, false)
    } else if let Some((name, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        (name, value, true)
    } else {
        return Err(Refusal::bad_request(format!("invalid selector: '{term}'; can't understand '{term}'")));
    };
    let field = match name.trim() {
        "metadata.name" => "name",
        "metadata.namespace" => "namespace",
        other => return Err(Refusal::bad_request(format!("field label not supported: {other}"))),
    };
    Ok(FieldTerm { field, value: value.trim().to_owned(), equal })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn label_selectors_match_as_the_real_ones_do() {
        let object = json!({ "metadata": { "name": "a", "namespace": "n", "labels": { "app": "web", "x.io/tier": "1" } } });
        for (selector, expected) in [
            ("", true),
            ("app=web", true),
            ("app==web,x.io/tier=1", true),
            ("app=db", false),
            ("app!=db", true),
            ("missing!=db", true),
            ("app!=web", false),
            ("app in (db, web)", true),
            ("app in (db),x.io/tier", false),
            ("app notin (db,api),x.io/tier in (1)", true),
            ("missing notin (a)", true),
            ("app", true),
            ("missing", false),
            ("!missing", true),
            ("!app", false),
        ] {
            let filter = Filter::parse(Some(selector), None).unwrap();
            assert_eq!(filter.matches(&object), expected, "{selector}");
        }
        for broken in ["app in web", "=web", "a b", "app near (x)", "a,,b"] {
            assert_eq!(Filter::parse(Some(broken), None).unwrap_err().code, 400, "{broken}");
        }
    }

    #[test]
    fn field_selectors_know_name_and_namespace() {
        let object = json!({ "metadata": { "name": "a", "namespace": "n" } });
        for (selector, expected) in [
            ("metadata.name=a", true),
            ("metadata.name==b", false),
            ("metadata.name!=b,metadata.namespace=n", true),
            ("metadata.namespace!=n", false),
        ] {
            let filter = Filter::parse(None, Some(selector)).unwrap();
            assert_eq!(filter.matches(&object), expected, "{selector}");
        }
        assert_eq!(Filter::parse(None, Some("spec.x=1")).unwrap_err().code, 400);
    }
}
