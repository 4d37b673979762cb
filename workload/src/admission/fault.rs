//! What is wrong with an object: field, value and rule, in the form of Kubernetes' own field errors.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fedhub_core::message::Quoted;

use super::path::Path;

/// What is wrong, as Kubernetes names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// There is no value.
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
        }
    }
}

/// One fault of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field.
    pub path: Path,
    /// What is wrong with it.
    pub problem: Problem,
    /// Its value, unless there is none.
    pub value: Option<String>,
    /// The rule. It never quotes another field: the fault has to stay the same while others change.
    pub rule: String,
}

impl Fault {
    /// What is wrong, without the field.
    pub fn message(&self) -> String {
        let words = self.problem.words();
        let value = self.value.as_deref().map(|value| format!(": {}", Quoted(value))).unwrap_or_default();
        let rule = if self.rule.is_empty() { String::new() } else { format!(": {}", self.rule) };
        format!("{words}{value}{rule}")
    }

    fn key(&self) -> (String, Problem, Option<String>, String) {
        (self.path.stable().to_owned(), self.problem, self.value.clone(), self.rule.clone())
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

    /// There has to be a value.
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

    /// One name.
    pub fn name(&mut self, path: Path, name: &str, is_valid: impl Fn(&str) -> bool, rule: &str) {
        match name {
            "" => self.required(path, rule),
            name => self.check(is_valid(name), path, name, rule),
        }
    }
}

/// The faults of an object that the one before it did not have at the same field, with the same value and by the same rule:
/// what is stored already stays changeable, whatever rules are newer than it.
pub fn not_in(before: &[Fault], mut faults: Vec<Fault>) -> Vec<Fault> {
    let mut stored = BTreeMap::<_, usize>::new();
    for fault in before {
        *stored.entry(fault.key()).or_default() += 1;
    }
    faults.retain(|fault| match stored.get_mut(&fault.key()) {
        Some(left @ 1..) => {
            *left -= 1;
            false
        }
        _ => true,
    });
    faults
}
