//! Which suites there are: each directory of `e2e/suites` with a `chainsaw-test.yaml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Error;
use crate::tools::Tool;
use crate::topology::planes::Cells;

/// The label of a test that needs more than the planes and fedhub; its value is names of tools, with `_`
/// between them.
const NEEDS: &str = "fedhub.dev/needs";
/// What a test may need.
const NEEDED: [Tool; 6] =
    [Tool::PreviousRelease, Tool::Collector, Tool::Tmux, Tool::BashCompletion, Tool::Fish, Tool::Zsh];
/// The label of a test that needs more than two cells; its value says how many.
const CELLS: &str = "fedhub.dev/cells";
/// The label of a test that has a place in the order.
const RUNS: &str = "fedhub.dev/runs";

/// A suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// Its name: that of the test and of its directory.
    pub name: String,
    /// Its directory.
    pub directory: PathBuf,
    /// Whether it breaks what others need, or waits until fedhub is idle: `concurrent: false` in its test.
    pub alone: bool,
    /// Whether it looks at or changes what others left, and so runs after them: the label
    /// `fedhub.dev/runs: last` of its test.
    pub last: bool,
    /// Which cells its planes have: the label `fedhub.dev/cells` of its test.
    pub cells: Cells,
    /// What it runs beside the planes and fedhub: the label `fedhub.dev/needs` of its test.
    pub needs: Vec<Tool>,
}

#[derive(Deserialize)]
struct Test {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Spec {
    concurrent: Option<bool>,
}

/// Every suite, by name; those that run last after the others.
pub fn all() -> Result<Vec<Suite>, Error> {
    below(&crate::repository().join("e2e/suites"))
}

/// The suites of these names; all where no name is given.
pub fn choose(names: &[String]) -> Result<Vec<Suite>, Error> {
    pick(all()?, names)
}

fn pick(all: Vec<Suite>, names: &[String]) -> Result<Vec<Suite>, Error> {
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|suite| suite.name == **name)) {
        let known = all.iter().map(|suite| suite.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Error::Unknown { kind: "suite", name: unknown.clone(), known });
    }
    Ok(all.into_iter().filter(|suite| names.is_empty() || names.contains(&suite.name)).collect())
}

fn below(directory: &Path) -> Result<Vec<Suite>, Error> {
    let mut suites = Vec::new();
    for entry in fs::read_dir(directory).map_err(Error::file("list", directory))?.flatten() {
        let path = entry.path().join("chainsaw-test.yaml");
        if path.is_file() {
            suites.push(read(&path, entry.path())?);
        }
    }
    suites.sort_by(|one, other| (one.last, &one.name).cmp(&(other.last, &other.name)));
    Ok(suites)
}

fn read(path: &Path, directory: PathBuf) -> Result<Suite, Error> {
    let manifest = |problem: String| Error::Manifest { path: path.to_owned(), problem };
    let content = fs::read_to_string(path).map_err(Error::file("read", path))?;
    let test: Test = serde_saphyr::from_str(&content).map_err(|error| manifest(error.to_string()))?;
    if directory.file_name().is_none_or(|name| name != test.metadata.name.as_str()) {
        return Err(manifest(format!("the test is called `{}`, its directory is not", test.metadata.name)));
    }
    let Metadata { name, labels } = test.metadata;
    let tool = |name: &str| {
        let names = || NEEDED.map(|tool| format!("`{}`", tool.name())).join(" or ");
        let found = NEEDED.into_iter().find(|tool| tool.name() == name);
        found.ok_or_else(|| manifest(format!("the label {NEEDS} is `{name}`: try {}", names())))
    };
    let needs = labels.get(NEEDS).into_iter().flat_map(|names| names.split('_')).map(tool);
    let needs = needs.collect::<Result<_, _>>()?;
    let cells = match labels.get(CELLS).map(String::as_str) {
        None => Cells::Two,
        Some("4") => Cells::Four,
        Some(other) => return Err(manifest(format!("the label {CELLS} is `{other}`: try \"4\""))),
    };
    let last = match labels.get(RUNS).map(String::as_str) {
        None => false,
        // What others left is on planes with two cells.
        Some("last") if cells == Cells::Two => true,
        Some("last") => return Err(manifest(format!("the label {RUNS} goes without {CELLS}"))),
        Some(other) => return Err(manifest(format!("the label {RUNS} is `{other}`: try `last`"))),
    };
    Ok(Suite { name, directory, alone: test.spec.concurrent == Some(false), last, cells, needs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_of_the_repository_is_sound() {
        let suites = all().unwrap();
        let is = |name, alone| suites.iter().any(|suite| suite.name == name && suite.alone == alone);
        assert!(is("api-admission", false) && is("restart-writes-nothing", true));
        assert_eq!(suites.last().map(|suite| &*suite.name), Some("uninstall"));
        let needing = suites.iter().filter(|suite| !suite.needs.is_empty());
        let expected: [(&str, &[Tool]); 4] = [
            ("cli-completion", &[Tool::BashCompletion, Tool::Fish, Tool::Zsh]),
            ("cli-terminal", &[Tool::Tmux]),
            ("traces", &[Tool::Collector]),
            ("upgrade", &[Tool::PreviousRelease]),
        ];
        assert_eq!(needing.map(|suite| (&*suite.name, &*suite.needs)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_waits_until_fedhub_is_idle_runs_alone() {
        let waits = |suite: &&Suite| {
            let files = fs::read_dir(&suite.directory).unwrap().map(|file| file.unwrap().path());
            let mut texts = files.filter_map(|path| fs::read_to_string(path).ok());
            texts.any(|text| text.contains("fedhub settle") || text.contains("quiet.sh"))
        };
        let suites = all().unwrap();
        let waiting: Vec<_> = suites.iter().filter(waits).collect();
        assert!(waiting.len() > 10, "{waiting:?}");
        let beside: Vec<_> = waiting.iter().filter(|suite| !suite.alone).map(|suite| &suite.name).collect();
        assert!(beside.is_empty(), "others keep fedhub busy for as long as they run: {beside:?}");
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let suite = |name: &str| Suite {
            name: name.to_owned(),
            directory: PathBuf::new(),
            alone: false,
            last: false,
            cells: Cells::Two,
            needs: Vec::new(),
        };
        let all = vec![suite("one"), suite("two")];
        assert_eq!(pick(all.clone(), &[]).unwrap(), all);
        assert_eq!(pick(all.clone(), &["two".to_owned()]).unwrap(), [suite("two")]);
        let error = pick(all, &["three".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("three") && error.contains("one, two"), "{error}");
    }
}
