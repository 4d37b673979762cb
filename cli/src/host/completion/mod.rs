//! Completion: the protocol of cobra, by which `datumctl` and `kubectl` ask (`__complete WORD... PART`), and scripts for
//! shells that ask by it too.
//!
//! An answer is a line for each candidate, with a description behind a tab, and `:DIRECTIVE` at the end.

pub mod names;

use std::ffi::OsString;

use clap_complete::engine::CompletionCandidate;
use fedhub_terminal::{output, plain};

use names::Line;

use super::environment::Environment;
use super::program::Program;
use crate::args::{self, Global};
use crate::exit::Exit;
use crate::problem::Problem;

/// The candidates are all there are: the shell is not to add file names.
const NO_FILES: u8 = 4;
/// As [`NO_FILES`], and no space comes behind the candidate.
const NO_FILES_NO_SPACE: u8 = NO_FILES | 2;

/// What is asked for: the words behind the program's name, the last of which is to be completed.
#[derive(Debug, PartialEq, Eq)]
pub struct Words {
    words: Vec<OsString>,
    /// Whether descriptions are wanted.
    described: bool,
}

/// The words to complete, where that is what the program was started for.
pub fn asked(program: Program, arguments: &[OsString]) -> Option<Words> {
    let (first, rest) = arguments.split_first().map_or((None, [].as_slice()), |(a, rest)| (a.to_str(), rest));
    let (words, described) = match (program, first) {
        (_, Some("__complete")) => (rest, true),
        (_, Some("__completeNoDesc")) => (rest, false),
        (Program::KubectlComplete, _) => (arguments, true),
        _ => return None,
    };
    Some(Words { words: words.to_vec(), described })
}

/// Prints the candidates.
pub fn answer(program: Program, environment: &Environment, asked: Words) -> Exit {
    let Words { mut words, described } = asked;
    if words.is_empty() {
        words.push(OsString::new());
    }
    let global = globals(&words);
    names::set(Line { global, environment: environment.clone(), program });
    let last = words.len();
    words.insert(0, program.name().into());
    let mut command = names::completed(args::command(program));
    let candidates = clap_complete::engine::complete(&mut command, words, last, None);
    let text = reply(&candidates.unwrap_or_default(), described);
    match output::print_verbatim(&text) {
        Ok(()) => Exit::Done,
        Err(_) => Exit::Failed,
    }
}

/// The flags in a line that is not finished, and need not be right.
fn globals(words: &[OsString]) -> Global {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let value = |names: [&str; 2]| {
        let at = words.iter().position(|word| names.contains(word));
        let behind = at.and_then(|at| words.get(at + 1)).map(|word| (*word).to_owned());
        let joined = words.iter().find_map(|word| word.strip_prefix(names[0])?.strip_prefix('='));
        joined.map(str::to_owned).or(behind).filter(|value| !value.is_empty())
    };
    Global {
        project: value(["--project", "--project"]),
        kubeconfig: value(["--kubeconfig", "--kubeconfig"]).map(Into::into),
        context: value(["--context", "--context"]),
        namespace: value(["--namespace", "-n"]),
        ..Global::default()
    }
}

/// The answer in cobra's protocol.
fn reply(candidates: &[CompletionCandidate], described: bool) -> String {
    let shown: Vec<&CompletionCandidate> = candidates.iter().filter(|it| !it.is_hide_set()).collect();
    let joins = shown.iter().any(|it| it.get_value().to_string_lossy().ends_with('='));
    let lines = shown.iter().map(|candidate| {
        let value = candidate.get_value().to_string_lossy();
        let help = candidate.get_help().filter(|_| described).map(ToString::to_string);
        let help = help.as_deref().and_then(|help| help.lines().next().map(str::to_owned));
        let value = plain(&value);
        help.map_or_else(|| value.to_string(), |help| format!("{value}\t{}", plain(&help)))
    });
    let directive = format!(":{}", if joins { NO_FILES_NO_SPACE } else { NO_FILES });
    lines.chain([directive]).collect::<Vec<_>>().join("\n")
}

/// Prints the script of a shell.
pub fn script(shell: &str) -> Result<(), Problem> {
    let script = match shell {
        "bash" => include_str!("completion.bash"),
        "zsh" => include_str!("completion.zsh"),
        _ => include_str!("completion.fish"),
    };
    output::print_verbatim(script.trim_end())
        .map_err(|_| Problem::failed("Could not write to standard output."))
}
