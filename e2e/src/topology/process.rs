//! Processes as the kernel knows them: a PID alone is not enough, because it may have been reused. A PID with
//! its start time and its executable identifies one process, regardless of its parent.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// One process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its PID.
    pub pid: i32,
    /// When it started, in clock ticks since the boot: field 22 of `/proc/PID/stat`.
    pub start_time: u64,
}

impl Identity {
    /// The process that has this PID now.
    pub fn from_pid(pid: i32) -> Option<Self> {
        Some(Self { pid, start_time: stat(pid)?.start_time })
    }

    /// Whether this very process still runs this program. One that has ended but was not reaped is not alive.
    /// A terminating one is alive until its last thread has ended, because it keeps its sockets until then.
    /// It releases its program before that, so that only its start time identifies it.
    pub fn runs(&self, program: &Path) -> bool {
        stat(self.pid).is_some_and(|stat| stat.start_time == self.start_time && !stat.ended)
            && executable(self.pid).is_none_or(|path| path == program)
    }

    /// Sends a signal, unless the PID is not this program's any more.
    pub fn signal(&self, program: &Path, signal: Signal) {
        if self.runs(program) {
            let _ = kill(Pid::from_raw(self.pid), signal);
        }
    }
}

/// The process that runs `program` with `variable` (`NAME=value`) in its environment. This finds what was
/// started by a harness that was killed before it could write the PID down.
pub fn find(program: &Path, variable: &str) -> Option<Identity> {
    let processes = fs::read_dir("/proc").ok()?;
    processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| executable(*pid).is_some_and(|path| path == program))
        .find(|pid| has_variable(*pid, variable))
        .and_then(Identity::from_pid)
}

fn has_variable(pid: i32, variable: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|line| line == variable.as_bytes()))
}

/// The program of a process; also when its file has since been replaced.
fn executable(pid: i32) -> Option<PathBuf> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let path = path.to_str()?;
    Some(PathBuf::from(path.strip_suffix(" (deleted)").unwrap_or(path)))
}

#[derive(Debug, PartialEq, Eq)]
struct Stat {
    ended: bool,
    start_time: u64,
}

fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads fields 3, 20 and 22. Field 2 is the program's name in parentheses and may itself hold any character.
fn parse_stat(line: &str) -> Option<Stat> {
    let mut fields = line.get(line.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?;
    let threads: u32 = fields.nth(16)?.parse().ok()?;
    let start_time = fields.nth(1)?.parse().ok()?;
    // Of a process whose first thread has ended before the others, the first is a zombie too.
    let ended = matches!(state, "X" | "x") || (state == "Z" && threads <= 1);
    Some(Stat { ended, start_time })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "42 (a) b (c) S 1 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1";

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        assert_eq!(parse_stat(LINE), Some(Stat { ended: false, start_time: 987_654 }));
    }

    #[test]
    fn a_process_that_only_waits_to_be_reaped_has_ended_and_one_with_threads_left_has_not() {
        let ended = LINE.replace(" S ", " Z ");
        assert!(parse_stat(&ended).unwrap().ended);
        assert!(!parse_stat(&ended.replace(" 20 0 1 ", " 20 0 7 ")).unwrap().ended);
    }

    #[test]
    fn another_program_or_start_time_is_another_process() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let this = Identity::from_pid(pid).unwrap();
        let program = std::env::current_exe().unwrap();
        assert!(this.runs(&program));
        assert!(!this.runs(Path::new("/bin/true")));
        assert!(!Identity { start_time: this.start_time + 1, ..this }.runs(&program));
    }
}
