//! The former names of flags and of their variables, which are accepted for one release.

use std::ffi::OsString;

/// The flags of `fedhub run` that were renamed: former name and name.
const RENAMED: [(&str, &str); 5] = [
    ("--gap-deletes-per-minute", "--max-inferred-deletes-per-minute"),
    ("--header-timeout", "--response-header-timeout"),
    ("--lists-at-once", "--max-concurrent-lists"),
    ("--policy-quiet-time", "--policy-gc-delay"),
    ("--shutdown-time", "--shutdown-timeout"),
];

/// A former name that was used, and the name to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// The former name of a flag or a variable.
    pub used: String,
    /// The present name.
    pub name: String,
}

impl Renamed {
    /// Logs that the former name goes away.
    pub fn warn(&self) {
        tracing::warn!(used = self.used, name = self.name, "flag name is deprecated, use the new name");
    }
}

/// The variable of a flag.
fn variable(flag: &str) -> String {
    format!("FEDHUB_{}", flag.trim_start_matches('-').replace('-', "_").to_uppercase())
}

/// Translates a command line to the present names, and returns the former ones that it and the environment
/// use. A former variable becomes a flag, unless flag or variable are given under the present name.
pub fn translate(
    mut line: Vec<OsString>,
    environment: impl Fn(&str) -> Option<OsString>,
) -> (Vec<OsString>, Vec<Renamed>) {
    let mut found = Vec::new();
    if line.get(1).is_none_or(|command| command != "run") {
        return (line, found);
    }
    for (former, name) in RENAMED {
        let mut used = |used: String, name: String| found.push(Renamed { used, name });
        for argument in &mut line {
            let value = argument.to_str().and_then(|text| text.strip_prefix(former));
            if let Some(value) = value.filter(|value| value.is_empty() || value.starts_with('=')) {
                *argument = format!("{name}{value}").into();
                used(former.to_owned(), name.to_owned());
            }
        }
        if let Some(value) = environment(&variable(former)) {
            used(variable(former), variable(name));
            let given = line.iter().filter_map(|argument| argument.to_str());
            if environment(&variable(name)).is_none()
                && !given.into_iter().any(|text| text.split('=').next() == Some(name))
            {
                line.extend([name.into(), value]);
            }
        }
    }
    (line, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(line: &str, environment: &[(&str, &str)]) -> (String, Vec<String>) {
        let variable = |name: &str| {
            environment.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.into())
        };
        let (line, found) = translate(line.split(' ').map(OsString::from).collect(), variable);
        let line: Vec<_> = line.iter().map(|argument| argument.to_str().unwrap()).collect();
        (line.join(" "), found.into_iter().map(|renamed| renamed.used).collect())
    }

    #[test]
    fn former_names_are_translated_and_reported() {
        for (line, environment, expected, used) in [
            ("fedhub run --shutdown-timeout 5s", &[][..], "fedhub run --shutdown-timeout 5s", &[][..]),
            (
                "fedhub run --shutdown-time 5s --header-timeout=1s",
                &[],
                "fedhub run --shutdown-timeout 5s --response-header-timeout=1s",
                &["--header-timeout", "--shutdown-time"],
            ),
            (
                "fedhub run",
                &[("FEDHUB_LISTS_AT_ONCE", "3")],
                "fedhub run --max-concurrent-lists 3",
                &["FEDHUB_LISTS_AT_ONCE"],
            ),
            // The present name counts.
            (
                "fedhub run --policy-gc-delay=1s",
                &[("FEDHUB_POLICY_QUIET_TIME", "9s")],
                "fedhub run --policy-gc-delay=1s",
                &["FEDHUB_POLICY_QUIET_TIME"],
            ),
            (
                "fedhub run",
                &[("FEDHUB_POLICY_QUIET_TIME", "9s"), ("FEDHUB_POLICY_GC_DELAY", "1s")],
                "fedhub run",
                &["FEDHUB_POLICY_QUIET_TIME"],
            ),
            ("fedhub run", &[("FEDHUB_POLICY_GC_DELAY", "1s")], "fedhub run", &[]),
            ("fedhub cells", &[("FEDHUB_SHUTDOWN_TIME", "1s")], "fedhub cells", &[]),
        ] {
            let (line, found) = translated(line, environment);
            assert_eq!((line.as_str(), found), (expected, used.iter().map(|&it| it.to_owned()).collect()));
        }
    }

    #[test]
    fn every_former_name_stands_for_a_flag() {
        use clap::CommandFactory;

        let command = crate::args::Args::command();
        let run = command.find_subcommand("run").unwrap();
        for (former, name) in RENAMED {
            let flags: Vec<_> = run
                .get_arguments()
                .filter_map(|flag| flag.get_long())
                .map(|flag| format!("--{flag}"))
                .collect();
            assert!(
                flags.iter().any(|flag| flag == name) && !flags.iter().any(|flag| flag == former),
                "{name}"
            );
            let (line, _) = translated(&format!("fedhub run {former} 5"), &[]);
            assert_eq!(line, format!("fedhub run {name} 5"));
        }
    }
}
