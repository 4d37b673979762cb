//! The documents say what the code says, and lead where they say they do.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

mod commands;
mod files;
mod links;
mod markdown;
mod reference;
mod security;
mod specification;
mod threats;

use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// The text of a file of the repository.
fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path))
        .unwrap_or_else(|error| panic!("failed to read {path}: {error}"))
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|it| it == extension)
}

/// Every file of the repository whose name ends like this, by its path in the repository; not what is built
/// or downloaded.
fn files(ending: &str) -> Vec<String> {
    let root = repository();
    let mut directories = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = entry.file_name().into_string().unwrap();
            let kind = entry.file_type().unwrap();
            let skipped = path.parent() == Some(&root) && matches!(&*name, "target" | "tmp" | ".git");
            if kind.is_dir() && !skipped {
                directories.push(path);
            } else if kind.is_file() && name.ends_with(ending) {
                found.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}
