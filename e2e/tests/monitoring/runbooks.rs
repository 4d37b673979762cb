//! Each alert has its page in `docs/runbooks`, and each page its alert.

use std::collections::BTreeSet;

use super::{ALERTS, RUNBOOKS, alerts, files, names, read, text, unknown_series};

#[test]
fn every_alert_has_its_page_and_every_page_its_alert() {
    let pages: BTreeSet<_> = files(RUNBOOKS, "md")
        .iter()
        .filter_map(|path| path.rsplit('/').next()?.strip_suffix(".md").map(str::to_owned))
        .filter(|name| name != "README")
        .collect();
    assert_eq!(pages, names(&alerts()));
    let index = read(&format!("{RUNBOOKS}/README.md"));
    for alert in alerts() {
        let name = text(&alert["alert"]);
        let severity = text(&alert["labels"]["severity"]);
        let path = format!("{RUNBOOKS}/{name}.md");
        assert_eq!(text(&alert["annotations"]["runbook_url"]), path);
        assert!(index.contains(&format!("| [{name}]({name}.md) | {severity} |")), "README.md: {name}");
        assert!(read(&path).starts_with(&format!("# {name}\n\nSeverity: {severity}.")), "{path}");
    }
}

#[test]
fn every_page_has_meaning_impact_commands_and_remedy() {
    for name in names(&alerts()) {
        let page = read(&format!("{RUNBOOKS}/{name}.md"));
        let headings: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(headings, ["Meaning", "Impact", "Commands", "Remedy"], "{name}");
        assert!(page.lines().any(|line| line.starts_with("    ")), "{name} has no command");
    }
}

/// Series in queries, and commands of the program.
#[test]
fn every_series_and_every_command_of_a_page_exists() {
    let reference = read("docs/reference/cli.md");
    let mut commands = 0;
    for path in files(RUNBOOKS, "md") {
        let page = read(&path);
        assert_eq!(unknown_series(&page), BTreeSet::new(), "{path}");
        let lines = page.lines().map(str::trim_start);
        for command in lines.filter_map(|line| line.strip_prefix("fedhub ")) {
            let name = command.split(' ').next().unwrap();
            assert!(reference.contains(&format!("\n## fedhub {name}\n")), "{path}: fedhub {command}");
            for flag in command.split(' ').filter(|word| word.starts_with("--")) {
                assert!(reference.contains(flag), "{path}: {flag}");
            }
            commands += 1;
        }
    }
    assert!(commands >= 10, "{commands}");
}

/// The page says how the path in `runbook_url` becomes an address, by a command that finds all of them.
#[test]
fn the_address_of_the_pages_can_be_put_in_front() {
    let rules = read(&format!("{ALERTS}/rules.yaml"));
    assert_eq!(rules.matches("runbook_url: docs/runbooks/").count(), alerts().len());
    assert!(read(&format!("{RUNBOOKS}/README.md")).contains("sed 's#runbook_url: #&https://"));
}
