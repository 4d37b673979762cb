//! Commands that fetch or build what the cache does not hold.

use std::process::Stdio;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Command;

use crate::Error;

/// How many words of a command line an error shows.
const WORDS: usize = 12;

/// Runs a command and returns its standard output. It gets a process group of its own, ended whole when this
/// future is dropped: `go` alone would leave its compilers behind, `apt-get` its downloads.
pub async fn output(mut command: Command, missing: impl FnOnce() -> Error) -> Result<String, Error> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    let arguments: Vec<_> =
        command.as_std().get_args().map(|argument| argument.to_string_lossy().into_owned()).collect();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    let child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => missing(),
        _ => Error::file("run", &program)(error),
    })?;
    let mut group = Group(child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw));
    let output = child.wait_with_output().await.map_err(Error::file("run", &program))?;
    group.0 = None;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let shown = arguments.iter().rev().take(WORDS).rev().cloned().collect::<Vec<_>>().join(" ");
    let elided = if arguments.len() > WORDS { "... " } else { "" };
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    Err(Error::Command {
        command: format!("{program} {elided}{shown}"),
        status: output.status.to_string(),
        output: said.concat(),
    })
}

/// A process group that ends with this value, unless it has ended by itself.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            let _ = killpg(leader, Signal::SIGTERM);
        }
    }
}
