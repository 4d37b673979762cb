//! The flags of rollouts as users type them.

use std::time::Duration;

use fedhub_cli::args::{Command, parse};
use fedhub_cli::host::program::Program;
use fedhub_cli::rollout::command::{RolloutArgs, RolloutCommand};

fn parsed(line: &str) -> Result<Command, String> {
    let words: Vec<_> = line.split_whitespace().map(Into::into).collect();
    parse(Program::Datumctl, &words).map(|cli| cli.command).map_err(|error| error.to_string())
}

fn rollout(line: &str) -> RolloutArgs {
    match parsed(line) {
        Ok(Command::Rollout(args)) => args,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn a_rollout_with_a_name_alone_is_watched() {
    for (line, watch, timeout) in [
        ("rollout web", true, 600),
        ("rollout web --timeout 90s", true, 90),
        ("rollout status web", true, 600),
        ("rollout status web --watch", true, 600),
        ("rollout status web --watch=false --timeout 0", false, 0),
    ] {
        let args = rollout(line);
        let status = match (args.command, args.status) {
            (Some(RolloutCommand::Status(status)), None) | (None, Some(status)) => status,
            other => panic!("{line}: {other:?}"),
        };
        let expected = ("web".to_owned(), watch, Duration::from_secs(timeout));
        assert_eq!((status.name, status.watch, status.timeout), expected, "{line}");
    }
    let undo = rollout("rollout undo web --to-revision 3 --no-wait");
    assert!(
        matches!(undo.command, Some(RolloutCommand::Undo(args)) if args.to_revision == 3 && args.wait.no_wait)
    );
}

#[test]
fn stray_words_and_missing_ones_are_errors() {
    for line in [
        "rollout",
        "rollout web other",
        "rollout status",
        "rollout status web other",
        "rollout undo web --to-revision last",
        "rollout web --timeout soon",
        "scale web",
        "scale web --min -1",
        "scale --min 1",
        "restart",
        "restart web other",
    ] {
        assert!(parsed(line).is_err(), "{line}");
    }
    for line in
        ["scale web --max 0", "scale web --min 1 --placement us,eu", "restart web --city DFW,ORD --no-wait"]
    {
        assert!(parsed(line).is_ok(), "{line}: {:?}", parsed(line));
    }
}
