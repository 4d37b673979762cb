//! Faults of an object: field, value and rule, in the form of Kubernetes' own field errors.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fedhub_core::message::Quoted;
use fedhub_core::names::{OBJECT_NAME_RULE, REFERENCE_RULE, is_object_name, is_referenceable};
use serde::Serialize;

use super::path::Path;

/// The kind of a fault, as Kubernetes names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// The value is missing.
    Required,
    /// The value does not follow the rule.
    Invalid,
    /// The value is there already.
    Duplicate,
    /// The value is none of those that are supported.
    NotSupported,
    /// The value refers to something that is not there.
    NotFound,
    /// The field may not be set, or not by this user.
    Forbidden,
    /// The list is longer than it may be.
    TooMany,
}

impl Problem {
    /// The reason of a cause in a `Status` (`metav1.CauseType`).
    pub fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotSupported => "FieldValueNotSupported",
            Self::NotFound => "FieldValueNotFound",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooMany => "FieldValueTooMany",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid => "Invalid value",
            Self::Duplicate => "Duplicate value",
            Self::NotSupported => "Unsupported value",
            Self::NotFound => "Not found",
            Self::Forbidden => "Forbidden",
            Self::TooMany => "Too many",
        }
    }
}

/// A fault of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field.
    pub path: Path,
    /// The kind of the fault.
    pub problem: Problem,
    /// Its value, unless there is none.
    pub value: Option<String>,
    /// The rule. It never quotes another field: the fault has to stay the same while others change.
    pub rule: String,
}

impl Fault {
    /// Returns the message, without the field.
    pub fn message(&self) -> String {
        let words = self.problem.words();
        let value = self.value.as_deref().map(|value| format!(": {}", Quoted(value))).unwrap_or_default();
        let rule = if self.rule.is_empty() { String::new() } else { format!(": {}", self.rule) };
        format!("{words}{value}{rule}")
    }

    /// Returns the identity by which faults of the old object and the new one are matched. A list that is too
    /// long keeps it as it gets shorter.
    fn key(&self) -> (&str, Problem, Option<&str>, &str) {
        let value = self.value.as_deref().filter(|_| self.problem != Problem::TooMany);
        (self.path.stable(), self.problem, value, &self.rule)
    }

    /// How many items a list has that is too long.
    fn count(&self) -> Option<usize> {
        self.value.as_ref().filter(|_| self.problem == Problem::TooMany)?.parse().ok()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message())
    }
}

/// The faults of an object, in the order of its fields.
#[derive(Debug, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// All of them.
    pub fn into_vec(self) -> Vec<Fault> {
        self.0
    }

    fn add(&mut self, path: Path, problem: Problem, value: Option<String>, rule: &str) {
        self.0.push(Fault { path, problem, value, rule: rule.to_owned() });
    }

    /// Adds the fault of a missing value.
    pub fn required(&mut self, path: Path, rule: &str) {
        self.add(path, Problem::Required, None, rule);
    }

    /// The value breaks a rule.
    pub fn invalid(&mut self, path: Path, value: impl ToString, rule: &str) {
        self.add(path, Problem::Invalid, Some(value.to_string()), rule);
    }

    /// The value breaks a rule, unless `holds`.
    pub fn check(&mut self, holds: bool, path: Path, value: impl ToString, rule: &str) {
        if !holds {
            self.invalid(path, value, rule);
        }
    }

    /// The value is there already.
    pub fn duplicate(&mut self, path: Path, value: &str, rule: &str) {
        self.add(path, Problem::Duplicate, Some(value.to_owned()), rule);
    }

    /// The value has to be one of these.
    pub fn supported(&mut self, path: Path, value: &str, all: &[&str]) {
        if !all.contains(&value) {
            let rule = format!("it must be one of {}", all.join(", "));
            self.add(path, Problem::NotSupported, Some(value.to_owned()), &rule);
        }
    }

    /// The value refers to something that is not there.
    pub fn not_found(&mut self, path: Path, value: &str, rule: &str) {
        self.add(path, Problem::NotFound, Some(value.to_owned()), rule);
    }

    /// The field may not be set.
    pub fn forbidden(&mut self, path: Path, value: Option<&str>, rule: &str) {
        self.add(path, Problem::Forbidden, value.map(str::to_owned), rule);
    }

    /// The list has at most that many items, and no more of them are looked at.
    pub fn within<'a, T>(&mut self, list: &'a [T], most: usize, at: &Path) -> &'a [T] {
        self.at_most(list.len(), most, "items", at);
        &list[..list.len().min(most)]
    }

    /// The list, or what is a list to its reader, has at most that many of something.
    pub fn at_most(&mut self, count: usize, most: usize, of: &str, at: &Path) {
        if count > most {
            let rule = format!("it has at most {most} {of}");
            self.add(at.clone(), Problem::TooMany, Some(count.to_string()), &rule);
        }
    }

    /// The name of a `ConfigMap` or Secret that the object refers to.
    pub fn reference(&mut self, path: Path, kind: &str, name: &str) {
        self.name(path.clone(), name, is_object_name, OBJECT_NAME_RULE);
        if is_object_name(name) && !is_referenceable(kind, name) {
            self.invalid(path, name, REFERENCE_RULE);
        }
    }

    /// Each name once, by the rule for names that `is_valid` and `rule` say.
    pub fn names<'a>(
        &mut self,
        named: impl IntoIterator<Item = (Path, &'a str)>,
        is_valid: impl Fn(&str) -> bool,
        rule: &str,
    ) {
        let mut seen = BTreeSet::new();
        for (path, name) in named {
            self.name(path.clone(), name, &is_valid, rule);
            if !seen.insert(name) {
                self.duplicate(path, name, "");
            }
        }
    }

    /// Checks a name.
    pub fn name(&mut self, path: Path, name: &str, is_valid: impl Fn(&str) -> bool, rule: &str) {
        match name {
            "" => self.required(path, rule),
            name => self.check(is_valid(name), path, name, rule),
        }
    }
}

/// A part of an object as the value of a fault: another one is another fault.
pub fn json(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

/// The faults of an object that the one before it did not have at the same field, with the same value and by
/// the same rule: what is stored already stays changeable, whatever rules are newer than it.
pub fn not_in(before: &[Fault], faults: Vec<Fault>) -> Vec<Fault> {
    let mut stored = BTreeMap::<_, Vec<Option<usize>>>::new();
    for fault in before {
        stored.entry(fault.key()).or_default().push(fault.count());
    }
    let are_new: Vec<bool> = faults
        .iter()
        .map(|fault| match stored.get_mut(&fault.key()).and_then(Vec::pop) {
            Some(count) => fault.count() > count,
            None => true,
        })
        .collect();
    faults.into_iter().zip(are_new).filter_map(|(fault, is_new)| is_new.then_some(fault)).collect()
}
