//! The file that a deployment by flags leaves behind, so that the next one can be by file.

use std::io::{self, Write};
use std::path::Path;

use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

/// The name of the file, where the user names none.
pub const FILE: &str = "workload.yaml";

/// What is done about the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saving {
    /// It says the same already.
    Same,
    /// It is written.
    Write,
    /// It says something else: it is written if the user agrees.
    Ask,
    /// It says something else, and nobody can be asked: it stays.
    Keep,
}

/// Decides what is done about a file with that content, or about none.
pub fn decide(content: Option<&str>, text: &str, can_ask: bool) -> Saving {
    match content {
        None => Saving::Write,
        Some(content) if content == text => Saving::Same,
        Some(_) if can_ask => Saving::Ask,
        Some(_) => Saving::Keep,
    }
}

/// A Workload as a file holds it: what a user says, and nothing that a server adds.
pub fn content(object: &Object) -> Value {
    let mut metadata = json!({"name": object.name()});
    if let Some(labels) = &object.metadata.labels {
        metadata["labels"] = json!(labels);
    }
    json!({
        "apiVersion": format!("{}/{}", fedhub_api::GROUP, fedhub_api::VERSION),
        "kind": "Workload",
        "metadata": metadata,
        "spec": object.spec(),
    })
}

/// Writes the file, in place of one only where that is wanted. Only its user can read a new one: values of variables may be
/// secrets.
pub fn write(path: &Path, text: &str, replace: bool) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).truncate(replace).create(replace).create_new(!replace);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
