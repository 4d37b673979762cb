//! The machine that is measured on, and what is measured.

use std::process::Command;
use std::{fs, thread};

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::Options;
use super::report::Measured;

/// Under what conditions this run measures.
pub fn measured(command: &str, options: &Options) -> Measured {
    Measured {
        date: today(),
        command: command.to_owned(),
        machine: words(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: revision(),
        quick: options.quick,
        scale: options.scale,
    }
}

/// The commit of the source, marked where something was changed. None outside of a repository of git.
fn revision() -> Option<String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(crate::repository());
    git.args(["describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Its processors and its memory, in words.
fn words() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    describe(&read("/proc/cpuinfo"), &read("/proc/meminfo"), cores)
}

fn describe(processors: &str, memory: &str, cores: usize) -> String {
    let model = field(processors, "model name").unwrap_or("an unknown processor");
    let kibibytes =
        field(memory, "MemTotal").and_then(|text| text.strip_suffix(" kB")?.trim().parse::<u64>().ok());
    let memory = kibibytes.map(|kibibytes| format!(", {} GiB", kibibytes.div_ceil(1024 * 1024)));
    format!("{cores} cores ({model}){}", memory.unwrap_or_default())
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// The day, anywhere on Earth the same.
pub fn today() -> Date {
    jiff::Timestamp::now().to_zoned(TimeZone::UTC).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_told_by_what_it_computes_with() {
        let processors = "processor\t: 0\nmodel name\t: A Processor @ 2GHz\nprocessor\t: 1\n";
        let memory = "MemTotal:       24683000 kB\nMemFree: 1 kB\n";
        assert_eq!(describe(processors, memory, 2), "2 cores (A Processor @ 2GHz), 24 GiB");
        assert_eq!(describe("", "", 1), "1 cores (an unknown processor)");
    }
}
