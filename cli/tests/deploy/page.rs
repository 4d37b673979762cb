//! The page of `deploy` names its flags, each of them and no other.

use std::collections::BTreeSet;

use fedhub_cli::args::command;
use fedhub_cli::host::program::Program;

const PAGE: &str = include_str!("../../../docs/cli-deploy.md");

/// The flags that a text names.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words
        .filter_map(|word| word.strip_prefix("--"))
        .filter(|flag| flag.starts_with(char::is_alphanumeric))
        .collect()
}

#[test]
fn the_page_names_every_flag_and_no_other() {
    let mut all = command(Program::Datumctl);
    all.build();
    let deploy = all.find_subcommand("deploy").unwrap();
    let long = |global: bool| {
        let arguments = deploy.get_arguments().filter(move |it| it.is_global_set() == global);
        arguments.filter_map(|it| it.get_long()).filter(|flag| *flag != "help").collect::<BTreeSet<_>>()
    };
    let own = long(false);
    let global = long(true);
    let named = named(PAGE);
    assert!(own.len() > 20, "{own:?}");
    let missing: Vec<_> = own.difference(&named).filter(|flag| **flag != "file").collect();
    assert!(missing.is_empty(), "the page lacks {missing:?}");
    let unknown: Vec<_> =
        named.iter().filter(|flag| !own.contains(*flag) && !global.contains(*flag)).collect();
    assert!(unknown.is_empty(), "no flags: {unknown:?}");
}
