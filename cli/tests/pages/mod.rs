//! Help, manual pages and `docs/cli.md` say what the program does.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use clap::ArgAction;
use clap::error::ErrorKind;
use fedhub_cli::args;
use fedhub_cli::exit::Exit;
use fedhub_cli::host::program::Program;
use fedhub_testing::{Messages, assert_messages};
use strum::VariantArray;

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_datumctl-compute"));
    command.args(arguments).env_clear().env("COLUMNS", "110").output().unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A command and all below it, by the words that call them.
fn commands(of: &clap::Command, words: &[String]) -> Vec<(Vec<String>, clap::Command)> {
    let below = of.get_subcommands().filter(|command| command.get_name() != "help" && !command.is_hide_set());
    let below = below.flat_map(|command| {
        let words = [words, &[command.get_name().to_owned()]].concat();
        commands(command, &words)
    });
    std::iter::once((words.to_vec(), of.clone())).chain(below).collect()
}

fn every_command() -> Vec<(Vec<String>, clap::Command)> {
    let every = commands(&args::command(Program::Datumctl), &[]);
    assert!(every.len() > 5, "{every:?}");
    every
}

fn document() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md")).unwrap()
}

/// The words of a line as a shell reads them, up to where it goes on with something else.
fn words(line: &str) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '|' | '>' | '<' | ';' | ')') => break,
            (None, ' ') => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.into_iter().chain(word).map(OsString::from).collect()
}

/// What is wrong with a command line that is shown to users.
fn fault(line: &str) -> Option<String> {
    let program = ["datumctl compute", "datumctl-compute", "kubectl compute"];
    let rest = program.iter().find_map(|name| line.strip_prefix(name)?.strip_prefix(' '))?;
    match args::parse(Program::Datumctl, &words(rest)) {
        Ok(_) => None,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => None,
        Err(error) => Some(format!("{line}\n{error}")),
    }
}

#[test]
fn every_command_explains_itself() {
    let helps = every_command().into_iter().map(|(words, _)| {
        let words: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        (format!("$ datumctl compute {}", words.join(" ")), text(&words))
    });
    assert_messages!("help", Messages::default().section("Help", helps));
}

#[test]
fn every_command_has_examples_that_are_right() {
    for (words, command) in every_command().into_iter().skip(1) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        // A command that is only there for those below it has theirs.
        let examples: Vec<&str> =
            help.lines().map(str::trim).filter(|line| line.starts_with("datumctl")).collect();
        assert!(!examples.is_empty() || command.is_subcommand_required_set(), "{words:?} has no examples");
        let faults: Vec<String> = examples.into_iter().filter_map(fault).collect();
        assert!(faults.is_empty(), "{words:?}: {}", faults.join("\n"));
    }
}

#[test]
fn the_document_has_every_command_and_shows_none_that_is_wrong() {
    let document = document();
    for (words, _) in every_command().into_iter().filter(|(words, _)| words.len() == 1) {
        assert!(document.contains(&format!("\n### {}\n", words[0])), "docs/cli.md has no section {words:?}");
    }
    let mut fenced = false;
    let mut shown = 0;
    for line in document.lines() {
        fenced ^= line.starts_with("```");
        if fenced && line.starts_with("datumctl") {
            assert_eq!(fault(line), None);
            shown += 1;
        }
    }
    assert!(shown > 4, "{shown}");
}

/// The text of the string that Rust source begins with.
fn literal(source: &str) -> Option<&str> {
    source.strip_prefix("&format!(").unwrap_or(source).strip_prefix('"')?.split('"').next()
}

fn sources(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![fs::read_to_string(path).unwrap()] })
        .collect()
}

/// What messages tell users to type, whatever has to go wrong for them to be told.
#[test]
fn every_command_that_a_message_recommends_can_be_typed() {
    let mut found = 0;
    for source in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        let built = source.split("command(").skip(1).filter_map(literal);
        let written = source.split("`datumctl compute ").skip(1).filter_map(|rest| rest.split('`').next());
        for words in built.chain(written) {
            // Something takes the place of a name; placeholders are in capitals.
            let typed = |word: &str| match word {
                "COMMAND" => "deploy".to_owned(),
                word if word.starts_with('{') => "web".to_owned(),
                word => word.to_lowercase(),
            };
            let line: Vec<_> = words.split(' ').map(typed).collect();
            assert_eq!(fault(&format!("datumctl compute {}", line.join(" "))), None, "{words}");
            found += 1;
        }
    }
    assert!(found > 15, "{found}");
}

#[test]
fn every_command_refuses_a_word_more_than_it_takes() {
    for (words, command) in every_command().into_iter().skip(1) {
        let takes_several = command.get_positionals().any(|of| matches!(of.get_action(), ArgAction::Append));
        if words == ["status"]
            || matches!(words.as_slice(), [first, order] if first == "instances" && order != "describe")
        {
            assert!(takes_several, "{words:?} is about each that is named");
            continue;
        }
        let taken = command.get_positionals().map(|of| {
            of.get_possible_values().first().map_or_else(|| "web".to_owned(), |it| it.get_name().to_owned())
        });
        let line: Vec<OsString> =
            words.iter().cloned().chain(taken).chain(["stray".to_owned()]).map(OsString::from).collect();
        let Err(refused) = args::parse(Program::Datumctl, &line) else { panic!("{line:?} is taken") };
        // A second word behind the name that `rollout` takes would be a command below it.
        let kinds = [ErrorKind::UnknownArgument, ErrorKind::InvalidSubcommand, ErrorKind::ArgumentConflict];
        assert!(kinds.contains(&refused.kind()), "{line:?}: {refused}");
        assert_eq!(refused.exit_code(), 2, "{line:?}");
    }
}

#[test]
fn the_document_has_every_exit_code() {
    let document = document();
    for exit in Exit::VARIANTS {
        assert!(document.contains(&format!("\n| {} | ", exit.code())), "docs/cli.md does not have {exit:?}");
    }
}

#[test]
fn a_wrong_command_line_is_found() {
    for line in ["datumctl compute nonsense", "datumctl compute access --nonsense", "kubectl compute destroy"]
    {
        assert!(fault(line).is_some(), "{line}");
    }
    for line in
        ["datumctl compute access -o json | jq .", "datumctl get projects", "datumctl compute man > 'a b'"]
    {
        assert_eq!(fault(line), None);
    }
    assert_eq!(words("a 'b c' d=\"e f\" | g"), ["a", "b c", "d=e f"]);
}

/// What is typed next may be copied: the nearest name goes first, and not the one that deletes.
#[test]
fn the_nearest_name_is_suggested_first() {
    let refused = String::from_utf8(run(&["depoly"]).stderr).unwrap();
    assert!(refused.contains("subcommands exist: 'deploy', 'destroy'"), "{refused}");
}

/// Terminals break lines in the middle of words.
#[test]
fn help_is_as_wide_as_the_terminal() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_datumctl-compute"));
    let output = command.args(["deploy", "--help"]).env_clear().env("COLUMNS", "70").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let options = text.split("Examples:").next().unwrap();
    assert!(options.lines().all(|line| line.chars().count() <= 70), "{options}");
}

#[test]
fn every_command_has_a_manual_page() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("man/man1");
    assert_eq!(text(&["man", "--dir", pages.to_str().unwrap()]), "");
    for (words, _) in every_command() {
        let name = ["datumctl-compute".to_owned()].into_iter().chain(words).collect::<Vec<_>>().join("-");
        let page = fs::read_to_string(pages.join(format!("{name}.1")))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".SH SYNOPSIS"), "{name}: {page}");
    }
    assert!(text(&["man"]).contains("datumctl\\-compute\\-destroy(1)"), "the page of all names the others");
    let refused = run(&["man", "--dir", "/dev/null/man"]);
    let error = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{error}");
    assert!(error.starts_with("Error: Could not write /dev/null/man"), "{error}");
}

/// A broken kubeconfig is no concern of help, completion and the manifest.
#[test]
fn help_needs_nothing_of_the_user() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".kube")).unwrap();
    fs::write(home.path().join(".kube/config"), "not a kubeconfig").unwrap();
    for arguments in [["--help"].as_slice(), &["--version"], &["--plugin-manifest"], &["__complete", ""]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_datumctl-compute"));
        let output = command.args(arguments).env_clear().env("HOME", home.path()).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?} {output:?}");
    }
}
