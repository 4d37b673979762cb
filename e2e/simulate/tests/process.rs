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

    #[test]
    fn bad_input_is_exit_2_before_anything_starts() {
        assert!(refused(&[]).contains("no part is chosen"));
        assert!(refused(&["--quota", "--project-kubeconfig=a"]).contains("NAME=FILE"));
    }
}
