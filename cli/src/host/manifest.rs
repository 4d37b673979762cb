//! The manifest by which the plugin describes itself to `datumctl`, at installation and before each start.

use std::ffi::OsString;

use serde_json::json;

/// The version of the host's contract that the program follows.
const API_VERSION: u32 = 1;

/// Whether the manifest is asked for: the flag counts wherever it stands, whatever surrounds it.
pub fn is_asked(arguments: &[OsString]) -> bool {
    arguments.iter().any(|argument| argument == "--plugin-manifest")
}

/// The manifest, as JSON on one line.
pub fn manifest() -> String {
    json!({
        "name": "compute",
        "version": format!("v{}", env!("CARGO_PKG_VERSION")),
        "description": "Deploy and run workloads in cities",
        "api_version": API_VERSION,
        "min_api_version": API_VERSION,
    })
    .to_string()
}
