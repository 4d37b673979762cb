//! One request, and what its answer has to be.

use std::collections::BTreeMap;

use serde_json::Value;

/// How a step waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Await {
    /// The answer, once.
    Nothing,
    /// The answer, again and again until it is as expected: something is done in the background.
    Effect,
    /// This number of events of a watch.
    Events(usize),
}

/// A request, and what its answer has to be. In its path, its body and its expectations `{key}` stands for
/// what was remembered as `key`.
#[derive(Debug)]
pub(super) struct Step {
    pub name: &'static str,
    pub method: &'static str,
    pub path: String,
    pub content_type: &'static str,
    pub accept: &'static str,
    pub body: Value,
    pub awaits: Await,
    pub saves: Vec<(&'static str, &'static str)>,
    codes: Vec<u16>,
    checks: Vec<(&'static str, Check)>,
}

#[derive(Debug)]
enum Check {
    Is(Value),
    Differs(&'static str),
    There,
    Missing,
    Length(usize),
}

/// The answer to a request.
#[derive(Debug)]
pub(super) struct Answer {
    pub code: u16,
    pub body: Value,
}

impl Step {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            method: "GET",
            path: String::new(),
            content_type: "application/json",
            accept: "application/json",
            body: Value::Null,
            awaits: Await::Nothing,
            saves: Vec::new(),
            codes: Vec::new(),
            checks: Vec::new(),
        }
    }

    fn with(mut self, method: &'static str, path: impl Into<String>, body: Value) -> Self {
        (self.method, self.path, self.body) = (method, path.into(), body);
        self
    }

    pub(super) fn get(self, path: impl Into<String>) -> Self {
        self.with("GET", path, Value::Null)
    }

    pub(super) fn post(self, path: impl Into<String>, body: Value) -> Self {
        self.with("POST", path, body)
    }

    pub(super) fn put(self, path: impl Into<String>, body: Value) -> Self {
        self.with("PUT", path, body)
    }

    pub(super) fn delete(self, path: impl Into<String>, body: Value) -> Self {
        self.with("DELETE", path, body)
    }

    /// A merge patch.
    pub(super) fn merge(self, path: impl Into<String>, body: Value) -> Self {
        self.patch(path, "application/merge-patch+json", body)
    }

    pub(super) fn patch(mut self, path: impl Into<String>, content_type: &'static str, body: Value) -> Self {
        self.content_type = content_type;
        self.with("PATCH", path, body)
    }

    pub(super) fn accept(mut self, accept: &'static str) -> Self {
        self.accept = accept;
        self
    }

    /// A watch: its answer is the list of its first `events`.
    pub(super) fn events(mut self, events: usize) -> Self {
        self.awaits = Await::Events(events);
        self
    }

    pub(super) fn eventually(mut self) -> Self {
        self.awaits = Await::Effect;
        self
    }

    pub(super) fn expect(mut self, code: u16) -> Self {
        self.codes = vec![code];
        self
    }

    /// Another code that is as good.
    pub(super) fn or(mut self, code: u16) -> Self {
        self.codes.push(code);
        self
    }

    /// A refusal with this code and reason.
    pub(super) fn refused(self, code: u16, reason: &str) -> Self {
        self.expect(code).is("/kind", "Status").is("/reason", reason)
    }

    pub(super) fn is(mut self, pointer: &'static str, value: impl Into<Value>) -> Self {
        self.checks.push((pointer, Check::Is(value.into())));
        self
    }

    /// The value is not the one that was remembered as `key`.
    pub(super) fn differs(mut self, pointer: &'static str, key: &'static str) -> Self {
        self.checks.push((pointer, Check::Differs(key)));
        self
    }

    pub(super) fn there(mut self, pointer: &'static str) -> Self {
        self.checks.push((pointer, Check::There));
        self
    }

    pub(super) fn missing(mut self, pointer: &'static str) -> Self {
        self.checks.push((pointer, Check::Missing));
        self
    }

    pub(super) fn length(mut self, pointer: &'static str, length: usize) -> Self {
        self.checks.push((pointer, Check::Length(length)));
        self
    }

    /// Remembers a value of the answer as `key`.
    pub(super) fn save(mut self, key: &'static str, pointer: &'static str) -> Self {
        self.saves.push((key, pointer));
        self
    }

    /// Whether an answer is as expected; else what is not, and the answer.
    pub(super) fn judge(&self, answer: &Answer, memory: &BTreeMap<String, String>) -> Result<(), String> {
        let mut faults = Vec::new();
        if !self.codes.contains(&answer.code) {
            faults.push(format!("code {} in place of {:?}", answer.code, self.codes));
        }
        for (pointer, check) in &self.checks {
            let have = answer.body.pointer(pointer);
            let text = have.and_then(Value::as_str);
            let good = match check {
                Check::Is(Value::String(wanted)) => text == Some(fill(wanted, memory).as_str()),
                Check::Is(wanted) => have == Some(wanted),
                Check::Differs(key) => text.is_some() && text != memory.get(*key).map(String::as_str),
                Check::There => have.is_some(),
                Check::Missing => have.is_none(),
                Check::Length(wanted) => {
                    have.and_then(Value::as_array).is_some_and(|list| list.len() == *wanted)
                }
            };
            if !good {
                faults.push(format!("{pointer}: {check:?}, but {}", have.unwrap_or(&Value::Null)));
            }
        }
        if faults.is_empty() {
            return Ok(());
        }
        let mut said = answer.body.to_string();
        if let Some((cut, _)) = said.char_indices().nth(600) {
            said.truncate(cut);
        }
        Err(format!("{}; answered {said}", faults.join("; ")))
    }
}

/// The text with what was remembered in the place of each `{key}`.
pub(super) fn fill(text: &str, memory: &BTreeMap<String, String>) -> String {
    memory.iter().fold(text.to_owned(), |text, (key, value)| text.replace(&format!("{{{key}}}"), value))
}
