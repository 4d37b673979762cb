//! Completions and manual pages cover every command.

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Command, Output};

    fn fedhub(arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_fedhub")).args(arguments).env_clear().output().unwrap()
    }

    fn text(arguments: &[&str]) -> String {
        let output = fedhub(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// A command and all below it, by the words that call them.
    fn commands(of: &[&str]) -> Vec<Vec<String>> {
        let help = text(&[of, &["--help"]].concat());
        let listed = help.split_once("Commands:\n").map(|(_, commands)| commands).unwrap_or_default();
        let names = listed.lines().take_while(|line| !line.is_empty());
        let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
        let below = names.flat_map(|name| commands(&[of, &[name]].concat()));
        let this = of.iter().map(|word| (*word).to_owned()).collect();
        std::iter::once(this).chain(below).collect()
    }

    #[test]
    fn every_command_has_a_manual_page() {
        let directory = tempfile::tempdir().unwrap();
        let pages = directory.path().join("man/man1");
        text(&["man", "--dir", pages.to_str().unwrap()]);
        let commands = commands(&[]);
        assert!(commands.len() > 8, "{commands:?}");
        for command in commands {
            let name = ["fedhub"].into_iter().chain(command.iter().map(String::as_str));
            let name = name.collect::<Vec<_>>().join("-");
            let page = fs::read_to_string(pages.join(format!("{name}.1")))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(page.contains(".SH SYNOPSIS"), "{name}: {page}");
        }
        assert!(text(&["man"]).contains("fedhub\\-explain(1)"), "the page of all names the others");
        fs::write(directory.path().join("file"), "").unwrap();
        let refused = fedhub(&["man", "--dir", directory.path().join("file/man").to_str().unwrap()]);
        let error = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{error}");
        assert!(error.starts_with("fedhub: failed to write ") && error.lines().count() == 1, "{error}");
    }

    #[test]
    fn completions_know_every_command_and_bash_can_read_them() {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let script = text(&["completions", shell]);
            for command in commands(&[]).into_iter().flatten() {
                assert!(script.contains(&command), "{shell}: {command}");
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("completions");
        fs::write(&file, text(&["completions", "bash"])).unwrap();
        let read = Command::new("bash").arg("-n").arg(&file).output().unwrap();
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        assert_eq!(fedhub(&["completions", "csh"]).status.code(), Some(2));
    }
}
