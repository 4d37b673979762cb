//! Advice names commands that there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::datumctl;
use crate::support::{Platform, ended};

/// All files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The commands of the host itself that a text names between backquotes.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').filter(|part| part.starts_with("datumctl ") && !part.contains('\n'));
    quoted.filter(|command| {
        !format!("{command} ").contains(" compute ") || command.starts_with("datumctl plugin ")
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_the_host_that_are_advised_are_there() {
    let platform = Platform::start().await;
    let cli = Path::new(env!("CARGO_MANIFEST_DIR"));
    let documents = ["../docs/cli.md", "../docs/cli-deploy.md", "../README.md"].map(|path| cli.join(path));
    let texts: Vec<String> = files(&cli.join("src"))
        .iter()
        .chain(&documents)
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let advised: BTreeSet<&str> = texts.iter().flat_map(|text| named(text)).collect();
    assert!(advised.contains("datumctl login"), "{advised:?}");
    for command in advised {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let run = ended(datumctl(&platform, &words)).await;
        assert_eq!(run.code, 0, "{command}: {run:?}");
    }
}
