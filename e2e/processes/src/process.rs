//! The process of a server, which is started once at most and outlives the provider.
//!
//! A process writes down itself what it is, its line of `/proc/PID/stat` with its PID and start time, into a
//! file that appears whole and must not exist before; only then it becomes the command. So there is no moment
//! in which the provider can end and forget a process, and a second one ends before it began.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::Stdio;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::command::Command;

/// What a process does before it becomes the command: `$0` is its file, `$@` the command.
const BEGIN: &str =
    r#"read -r stat </proc/$$/stat && printf '%s\n' "$stat" >"$0.$$" && /bin/ln "$0.$$" "$0" && exec "$@""#;
/// The file, in the directory of the server.
const FILE: &str = "process";

/// A process: a PID alone may be another's by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its PID, which is that of its process group.
    pub pid: i32,
    /// When it started, in ticks since the machine did.
    started: u64,
}

/// Reads a line of `/proc/PID/stat`: the process, and its state as a letter.
fn parse(line: &str) -> Option<(Process, &str)> {
    // The name between the brackets may hold anything.
    let (before, after) = line.rsplit_once(')')?;
    let pid = before.split_once(' ')?.0.parse().ok()?;
    let fields: Vec<_> = after.split_whitespace().collect();
    // The state is the third field of the line, the start time the twenty-second.
    Some((Process { pid, started: fields.get(19)?.parse().ok()? }, fields.first()?))
}

/// What is known of the process of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// None has begun, though one may be about to.
    Absent,
    /// It runs.
    Runs(Process),
    /// It has ended, or none is to begin.
    Ended,
}

/// Looks at the process of the server in `directory`.
pub fn known(directory: &Path) -> io::Result<Known> {
    let line = match fs::read_to_string(directory.join(FILE)) {
        Ok(line) => line,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Known::Absent),
        Err(error) => return Err(error),
    };
    let Some((process, _)) = parse(&line) else { return Ok(Known::Ended) };
    let now = fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap_or_default();
    Ok(match parse(&now) {
        // A zombie has ended.
        Some((same, state)) if same == process && state != "Z" => Known::Runs(process),
        _ => Known::Ended,
    })
}

/// Starts the command of the server in `directory`, with these variables beside its own.
pub fn start(directory: &Path, command: &Command, variables: &[(&str, &str)]) -> io::Result<()> {
    let works = directory.join("work");
    fs::create_dir_all(&works)?;
    let log = File::options().create(true).append(true).open(directory.join("log"))?;
    let mut shell = tokio::process::Command::new("/bin/sh");
    shell.args(["-c", BEGIN]).arg(directory.join(FILE)).args(&command.arguments);
    shell.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", &works);
    shell.envs(&command.environment).envs(variables.iter().copied());
    shell.current_dir(works).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    // A signal to the provider's group is none to it.
    shell.process_group(0);
    // It outlives this; until then the runtime reaps it.
    drop(shell.spawn()?);
    Ok(())
}

/// Keeps a process from beginning that was started and has not written itself down yet. Returns `false` where
/// one has.
pub fn prevent(directory: &Path) -> io::Result<bool> {
    fs::create_dir_all(directory)?;
    match File::create_new(directory.join(FILE)) {
        Ok(mut file) => writeln!(file, "none").map(|()| true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Lets another process begin in place of one that has ended.
pub fn clear(directory: &Path) -> io::Result<()> {
    match fs::remove_file(directory.join(FILE)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Process {
    /// Asks it and what it started to end, or ends them. One that is gone meanwhile is none to complain of.
    pub fn end(self, by_force: bool) {
        let signal = if by_force { Signal::SIGKILL } else { Signal::SIGTERM };
        let _gone = killpg(Pid::from_raw(self.pid), signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_a_process_is_told_by_its_start_whatever_its_name() {
        let line = |name: &str, started: u64| {
            format!("42 ({name}) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 {started} 9 10\n")
        };
        let (sh, state) = parse(&line("sh", 77)).map(|(process, _)| (process, "S")).unwrap();
        assert_eq!((sh, state), (Process { pid: 42, started: 77 }, "S"));
        for (line, same) in [
            (line("a) S 9 (b c", 77), true),
            (line("sh", 78), false),
            ("none\n".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(parse(&line).is_some_and(|(process, _)| process == sh), same, "{line}");
        }
    }
}
