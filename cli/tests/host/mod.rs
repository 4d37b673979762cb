//! The contract with the programs that start this one: `datumctl`, played by a script as the real one was
//! seen to behave, and `kubectl`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod advice;
mod completion;
mod interrupts;
mod kubectl;
mod plugin;
mod release;
mod tokens;

use std::os::unix::fs::symlink;
use std::path::Path;

use tokio::process::Command;

use crate::support::{PROJECT, Platform, program, script};

/// `datumctl`, with the plugin beside it, which it has been told to trust.
fn datumctl(platform: &Platform, arguments: &[&str]) -> Command {
    let directory = platform.files.path();
    if !directory.join("datumctl").exists() {
        let text = include_str!("datumctl.sh");
        script(directory, "datumctl", text.trim_start_matches("#!/bin/sh\n"));
        symlink(program(), directory.join("datumctl-compute")).unwrap();
        let mut trust = std::process::Command::new(directory.join("datumctl"));
        let trusted = trust.args(["plugin", "trust", "compute"]).env("STUB", directory).status();
        assert!(trusted.unwrap().success());
    }
    let mut command = Command::new(directory.join("datumctl"));
    command.args(arguments).env_clear().stdin(std::process::Stdio::null());
    command.env("PATH", "/usr/bin:/bin").env("HOME", directory).env("SSL_CERT_FILE", platform.file("ca.pem"));
    command.env("STUB", directory).env("STUB_HOST", &platform.host).env("STUB_PROJECT", PROJECT);
    command
}

/// The program by another name.
fn named(directory: &Path, name: &str) -> Command {
    let path = directory.join(name);
    if !path.exists() {
        symlink(program(), &path).unwrap();
    }
    let mut command = Command::new(path);
    command
        .env_clear()
        .stdin(std::process::Stdio::null())
        .env("HOME", directory)
        .env("PATH", "/usr/bin:/bin");
    command
}
