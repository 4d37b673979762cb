//! Flags of every command.

use std::path::PathBuf;

use fedhub_terminal::output::Format;

use crate::host::program::Program;

/// Flags that every command takes.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Project to work in, in place of the one that is chosen in datumctl.
    #[arg(long, global = true, value_name = "PROJECT")]
    pub project: Option<String>,
    /// Organization, as datumctl passes it on; a project is enough.
    #[arg(long, global = true, value_name = "ORG", hide = true)]
    pub org: Option<String>,
    /// Kubeconfig to connect with, in place of datumctl's login.
    #[arg(long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig.
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Namespace in the project; datumctl passes on none that stands before `compute`.
    #[arg(short, long, global = true, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Output format: table, wide, json or yaml.
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        default_value = "table",
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    pub output: Format,
    /// Print tables without their header.
    #[arg(long, global = true)]
    pub no_headers: bool,
    /// Show the server's own words with an error.
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

impl Global {
    /// A command of the program, to be typed, with the flags that lead to the same place.
    pub fn command(&self, program: Program, rest: &str) -> String {
        format!("{}{}", program.command(rest), self.place())
    }

    /// The flags that lead to the same place, as they are typed behind a command; with a space before each.
    pub fn place(&self) -> String {
        let kubeconfig = self.kubeconfig.as_ref().map(|file| file.display().to_string());
        let flags = [
            ("--project", &self.project),
            ("--kubeconfig", &kubeconfig),
            ("--context", &self.context),
            ("--namespace", &self.namespace),
        ];
        let given = flags.into_iter().filter_map(|(flag, value)| Some((flag, value.as_ref()?)));
        given
            .flat_map(|(flag, value)| [" ".to_owned(), flag.to_owned(), " ".to_owned(), quoted(value)])
            .collect()
    }
}

/// A value as a shell takes it for one word.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    if value.chars().all(is_plain) { value.to_owned() } else { format!("'{}'", value.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_recommended_leads_to_the_same_place() {
        let global = Global {
            project: Some("shop".to_owned()),
            kubeconfig: Some("/my home/it's".into()),
            ..Global::default()
        };
        assert_eq!(global.place(), " --project shop --kubeconfig '/my home/it'\\''s'");
        assert_eq!(Global::default().place(), "");
    }
}
