//! The program as its operator meets it: exit codes and words.

#[cfg(test)]
mod tests {
    use std::process::{Command, Output, Stdio};

    fn fedhub(args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedhub"));
        command.args(args).env_clear().output().unwrap()
    }

    fn refused(args: &[&str]) -> String {
        let output = fedhub(args);
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {words}");
        words
    }

    #[test]
    fn a_missing_hub_kubeconfig_is_exit_2_with_one_clear_line() {
        let words = refused(&["run", "--enable-management-controllers"]);
        assert_eq!(words.lines().count(), 1, "{words}");
        assert!(words.contains("--hub-kubeconfig") && words.contains("FEDHUB_HUB_KUBECONFIG"), "{words}");
    }

    #[test]
    fn c14_a_cell_without_hub_credentials_is_exit_2_with_one_clear_line() {
        let words = refused(&["run", "--enable-cell-controllers", "--cell-name=dfw"]);
        assert_eq!(words.lines().count(), 1, "{words}");
        assert!(words.contains("--hub-kubeconfig") && words.contains("--write-back=false"), "{words}");
    }

    #[test]
    fn bad_input_is_exit_2_before_anything_starts() {
        assert!(refused(&["run"]).contains("no role"));
        let unreadable = ["run", "--enable-management-controllers", "--hub-kubeconfig=/nowhere/hub.yaml"];
        assert!(refused(&unreadable).contains("/nowhere/hub.yaml"));
        assert!(refused(&["cells", "--project-kubeconfig=a"]).contains("NAME=FILE"));
        assert!(refused(&["run", "--discovery=nonsense"]).contains("nonsense"));
        assert!(
            refused(&["run", "--response-header-timeout=9"]).contains("500ms"),
            "it says what a duration looks like"
        );
    }

    #[test]
    fn cells_that_cannot_be_read_are_exit_1_and_misuse_is_exit_2() {
        assert!(refused(&["cells"]).contains("--hub-kubeconfig"));
        let output = fedhub(&["cells", "--hub-kubeconfig=/nowhere/hub.yaml"]);
        let words = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(words.contains("/nowhere/hub.yaml"), "{words}");
        let help = fedhub(&["cells", "--help"]);
        assert!(String::from_utf8(help.stdout).unwrap().contains("Exit codes"));
    }

    #[test]
    fn crds_are_printed_whole_and_to_a_reader_that_stops_early() {
        let output = fedhub(&["crds"]);
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.matches("\nkind: CustomResourceDefinition").count(), 5);

        let mut child = Command::new(env!("CARGO_BIN_EXE_fedhub"))
            .arg("crds")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
}
