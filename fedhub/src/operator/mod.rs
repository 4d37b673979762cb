//! What the commands for operators share: connections, reads that keep their errors, project planes as
//! each discovery finds them. How they print is in `shared/terminal`. They read only, and ask no fedhub
//! process (U4).

pub mod concurrent;
pub mod connect;
pub mod deletion;
pub mod discovery;
pub mod fleet;
pub mod karmada;
pub mod planes;
pub mod read;
pub mod recording;
pub mod requests;
pub mod sources;

use std::path::PathBuf;

use fedhub_core::names::PlaneName;

/// The name of a project plane.
pub fn plane_name(text: &str) -> Result<PlaneName, String> {
    PlaneName::new(text).map_err(|error| error.to_string())
}

/// A name and a file, as `NAME=FILE`.
pub fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), PathBuf::from(file)))
        }
        _ => Err(format!("{text:?} is not NAME=FILE")),
    }
}
