//! Completion: the protocol of cobra, by which `datumctl` and `kubectl` ask (`__complete WORD... PART`), and
//! scripts for shells that ask by it too.
//!
//! An answer is a line for each candidate, with a description behind a tab, and `:DIRECTIVE` at the end. The
//! candidates of `--flag=PART` are values alone: shells put `--flag=` before them.

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

/// The shell is to complete a path.
const FILES: u8 = 0;
/// The candidates are all there are: the shell is not to add file names.
const NO_FILES: u8 = 4;

/// The words behind the program's name, the last of which is to be completed.
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
    let part = words.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let global = globals(&words);
    names::set(Line { global, environment: environment.clone(), program });
    let last = words.len();
    words.insert(0, program.name().into());
    let mut command = names::completed(args::command(program));
    let candidates = clap_complete::engine::complete(&mut command, words, last, None);
    let text = if names::is_path() {
        format!(":{FILES}")
    } else {
        reply(&candidates.unwrap_or_default(), &part, described)
    };
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

/// The answer in cobra's protocol, for a word that is begun. Flags are offered where one is begun, and not
/// among names.
fn reply(candidates: &[CompletionCandidate], part: &str, described: bool) -> String {
    let is_flag = part.starts_with('-');
    let flag =
        part.split_inclusive('=').next().filter(|flag| is_flag && flag.ends_with('=')).unwrap_or_default();
    let mut lines = Vec::new();
    for candidate in candidates.iter().filter(|it| !it.is_hide_set()) {
        let value = candidate.get_value().to_string_lossy();
        if !is_flag && value.starts_with('-') {
            continue;
        }
        let value = plain(value.strip_prefix(flag).unwrap_or(&value)).into_owned();
        let help = candidate.get_help().filter(|_| described).map(ToString::to_string).unwrap_or_default();
        lines.push(match help.lines().next() {
            Some(help) => format!("{value}\t{}", plain(help)),
            None => value,
        });
    }
    lines.push(format!(":{NO_FILES}"));
    lines.join("\n")
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
