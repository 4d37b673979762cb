//! The program as its user meets it: exit codes and words.

#[cfg(test)]
mod tests {
    use std::process::Command;

    fn refused(args: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedhub-simulate"));
        let output = command.args(args).env_clear().output().unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {words}");
        words
    }

    /// Nobody reads what is wrong: the exit code says it.
    #[test]
    fn a_closed_standard_error_ends_it_as_ever() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedhub-simulate"));
        assert_eq!(command.env_clear().stderr(writer).status().unwrap().code(), Some(2));
    }

    #[test]
    fn bad_input_is_exit_2_before_anything_starts() {
        assert!(refused(&[]).contains("no part is chosen"));
        assert!(refused(&["--quota", "--project-kubeconfig=a"]).contains("NAME=FILE"));
    }
}
