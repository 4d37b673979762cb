//! The program `datumctl-compute`, which is `kubectl-compute` by that name.

use std::process::ExitCode;

use fedhub_cli::host::environment::Environment;

fn main() -> ExitCode {
    let environment = Environment::read(|name| std::env::var(name).ok());
    fedhub_cli::run(std::env::args_os().collect(), &environment).into()
}
