//! The command line as its operator sees it, in `tests/snapshots`.

#[cfg(test)]
mod tests {
    use std::process::Command;

    use fedhub_testing::{Messages, assert_messages};

    /// What a command prints, and how it ends.
    fn fedhub(line: &str) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedhub"));
        let output =
            command.args(line.split_whitespace()).env_clear().env("COLUMNS", "110").output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap();
        format!("{}{}exit code {code}", text(output.stdout), text(output.stderr))
    }

    /// A command and all below it, as the help texts list them.
    fn commands(of: &str) -> Vec<String> {
        let help = fedhub(&format!("{of} --help"));
        let listed = help.split_once("Commands:\n").map(|(_, commands)| commands).unwrap_or_default();
        let names = listed.lines().take_while(|line| !line.is_empty());
        let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
        let below = names.flat_map(|name| commands(format!("{of} {name}").trim()));
        std::iter::once(of.to_owned()).chain(below).collect()
    }

    #[test]
    fn every_command_explains_itself() {
        let helps = commands("").into_iter().map(|command| {
            let line = format!("{command} --help");
            (format!("$ fedhub {}", line.trim()), fedhub(&line))
        });
        assert_messages!("help", Messages::default().section("Help", helps));
    }

    #[test]
    fn misuse_is_explained() {
        let hub = "--hub-kubeconfig=/dev/null";
        let management = format!("run --enable-management-controllers {hub}");
        let cell = format!("run --enable-cell-controllers {hub} --cell-name=dfw");
        let lines = [
            "run".to_owned(),
            "run --enable-management-controllers".to_owned(),
            "run --enable-cell-controllers --cell-name=dfw".to_owned(),
            format!("run --enable-cell-controllers {hub}"),
            "run --enable-management-controllers --hub-kubeconfig=/nowhere/hub.yaml".to_owned(),
            format!("{management} --discovery=nonsense"),
            format!("{management} --discovery-kubeconfig=/dev/null"),
            format!("{management} --discovery=milo --discovery-context=x"),
            format!("{management} --cell-city=DFW --networking --quota=false"),
            format!("{management} --lease-duration=10s --lease-name=X --namespace=a.b"),
            format!("{management} --lease-renew=1ms --credentials-interval=1ms"),
            format!("{management} --memory-budget=1Mi --backoff-first=1h"),
            format!("{management} --response-header-timeout=9"),
            format!("{management} --memory-budget=lots"),
            format!("{management} --log=a=b=c"),
            format!("{management} --workers=0"),
            format!("{cell} --cell-city=a/b"),
            format!("{cell} --cell-context=x"),
            "cells".to_owned(),
            "cells --hub-kubeconfig=/nowhere/hub.yaml".to_owned(),
            format!("cells {hub} --project-kubeconfig=a"),
            "explain wd web -n shop".to_owned(),
            format!("explain pod web -n shop --plane a {hub}"),
            format!("explain wd web -n shop --plane a_b {hub}"),
            format!("explain wd web -n shop --plane a {hub} --project-kubeconfig=a=/nowhere/a.yaml"),
            format!("explain wd web -n shop --plane a {hub} --json -o yaml"),
            "audit".to_owned(),
            format!("audit {hub} --yes"),
            format!("audit {hub} --reclaim --json"),
            format!("audit {hub} --plane=a_b"),
            "kubeconfig mint --for=hub --management-context=m".to_owned(),
            "kubeconfig mint --for=project --management-context=m".to_owned(),
            "kubeconfig mint --for=cell --hub-context=h".to_owned(),
            "kubeconfig mint --for=hub --hub-context=h --duration=1m".to_owned(),
            "kubeconfig mint --for=hub --hub-context=h --print --force".to_owned(),
            "kubeconfig rotate --for=hub,quota".to_owned(),
            "uninstall".to_owned(),
            "uninstall --plan --run".to_owned(),
            "uninstall --plan --hub=empty".to_owned(),
            "uninstall --plan --yes".to_owned(),
            "uninstall --run".to_owned(),
            format!("uninstall --run --yes --hub=empty {hub}"),
            "planes --concurrency=0".to_owned(),
            "planes --management-kubeconfig=/nowhere/management.yaml".to_owned(),
            "planes withdraw".to_owned(),
            "planes withdraw a_b --yes".to_owned(),
            "planes withdraw project-a".to_owned(),
            "planes withdraw project-a --yes --management-kubeconfig=/nowhere/management.yaml".to_owned(),
            "hub status --management-kubeconfig=/nowhere/management.yaml".to_owned(),
        ];
        let outputs = lines.iter().map(|line| (format!("$ fedhub {line}"), fedhub(line)));
        assert_messages!("misuse", Messages::default().section("Misuse", outputs));
    }
}
