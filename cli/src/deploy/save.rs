//! The file that a deployment by flags leaves behind, so that the next one can be by file.

use std::io::{self, Write};
use std::path::Path;

use fedhub_core::object::{Object, ObjectView};
use fedhub_terminal::output::{Format, structured};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

/// The name of the file, where the user names none.
pub const FILE: &str = "workload.yaml";

/// The decision about the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saving {
    /// The file has this content already.
    Same,
    /// The file is written.
    Write,
    /// The file has the former state of the workload: it is overwritten.
    Replace,
    /// The file has another content: it is overwritten if the user agrees.
    Ask,
    /// The file has another content, and there is no terminal to ask on: it is left alone.
    Keep,
}

/// Decides what is done about a file with that content, or about none, where `before` is what the workload
/// was before.
pub fn decide(content: Option<&str>, text: &str, before: Option<&str>, can_ask: bool) -> Saving {
    match content {
        None => Saving::Write,
        Some(content) if content == text => Saving::Same,
        // An earlier deployment wrote it, and it is unchanged since: nothing is lost.
        Some(_) if content == before => Saving::Replace,
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

/// The text of the file.
pub fn text(object: &Object) -> Option<String> {
    structured(Format::Yaml, &content(object)).map(|text| text + "\n")
}

/// Writes the file, in place of one only where that is wanted. Only its user can read it: values of variables
/// may be secrets. What was there stays whole until the new file is.
pub fn write(path: &Path, text: &str, replace: bool) -> io::Result<()> {
    // A link stays one: what it leads to is replaced.
    let path = if replace { path.canonicalize()? } else { path.to_owned() };
    if replace && !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    let stored = if replace { file.persist(&path) } else { file.persist_noclobber(&path) };
    stored.map(drop).map_err(|error| error.error)
}
