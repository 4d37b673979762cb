//! What programs print, and where nobody reads it.

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    /// A reader that stops early is no reason to panic, with servers still to be taken down.
    #[test]
    fn a_reader_that_has_gone_ends_no_program_otherwise() {
        for (program, arguments, code) in [
            (env!("CARGO_BIN_EXE_e2e"), ["--list"].as_slice(), 0),
            (env!("CARGO_BIN_EXE_e2e"), &["now"], 0),
            (env!("CARGO_BIN_EXE_e2e"), &["--suite", "no-such-suite"], 2),
            (env!("CARGO_BIN_EXE_fedhub-bench"), &["list"], 0),
            (env!("CARGO_BIN_EXE_planes"), &["status", "--name", "there-is-none"], 1),
            (env!("CARGO_BIN_EXE_demo"), &["--name", "no/name"], 1),
        ] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let mut command = Command::new(program);
            command.args(arguments).stdout(writer.try_clone().unwrap()).stderr(writer);
            assert_eq!(command.status().unwrap().code(), Some(code), "{program} {arguments:?}");
        }
    }

    /// The root of every program and of every crate that prints denies the macros that panic where nobody
    /// reads.
    #[test]
    fn no_program_prints_by_the_macros() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for root in [
            "cli/src/lib.rs",
            "e2e/fake-apiserver/src/lib.rs",
            "e2e/fake-apiserver/src/main.rs",
            "e2e/region/src/lib.rs",
            "e2e/region/src/main.rs",
            "e2e/simulate/src/main.rs",
            "e2e/src/bin/demo.rs",
            "e2e/src/bin/e2e/main.rs",
            "e2e/src/bin/fedhub-bench.rs",
            "e2e/src/bin/planes.rs",
            "e2e/src/lib.rs",
            "fedhub/src/lib.rs",
        ] {
            let text = fs::read_to_string(repository.join(root)).unwrap();
            let line = "#![deny(clippy::print_stdout, clippy::print_stderr)]";
            assert!(text.lines().any(|it| it == line), "{root} does not have {line}");
        }
    }
}
