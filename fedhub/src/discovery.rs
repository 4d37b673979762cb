//! Where project planes are found: flags that `fedhub run` and the commands for operators share.

use std::path::PathBuf;

use clap::Arg;
use fedhub_planes::discovery::Discovery;
use fedhub_planes::discovery::credentials::Source;

use crate::common::ManagementArgs;

/// The flags of discovery.
#[derive(Clone, Debug, clap::Args)]
pub struct DiscoveryArgs {
    /// How project planes are found: `single` (the management plane itself), `kubeconfigs` (labelled Secrets)
    /// or `milo` (Projects of a Milo API server).
    #[arg(
        id = "discovery",
        long = "discovery",
        env = "FEDHUB_DISCOVERY",
        default_value = "single",
        value_name = "MODE",
        hide_possible_values = true
    )]
    pub mode: Discovery,
    /// Kubeconfig of the server with the Projects, for discovery `milo`; without it, the management plane's.
    #[arg(
        id = "discovery_kubeconfig",
        long = "discovery-kubeconfig",
        env = "FEDHUB_DISCOVERY_KUBECONFIG",
        value_name = "FILE"
    )]
    pub kubeconfig: Option<PathBuf>,
    /// Context in that kubeconfig, in place of its current one.
    #[arg(
        id = "discovery_context",
        long = "discovery-context",
        env = "FEDHUB_DISCOVERY_CONTEXT",
        value_name = "NAME"
    )]
    pub context: Option<String>,
}

/// `--discovery` of a command for operators: most installations have Secrets, and what a command is not told
/// is to be what it finds there.
pub fn of_operators(discovery: Arg) -> Arg {
    discovery.default_value("kubeconfigs")
}

impl DiscoveryArgs {
    /// The server with the Projects, unless it is the management plane; a line for each fault.
    fn resolve(&self, management: &ManagementArgs) -> Result<Option<Source>, Vec<String>> {
        let given = [
            ("--discovery-kubeconfig", self.kubeconfig.is_some()),
            ("--discovery-context", self.context.is_some()),
        ];
        let given: Vec<&str> = given.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag).collect();
        if self.mode != Discovery::Milo {
            let faults: Vec<String> = given
                .into_iter()
                .map(|flag| format!("{flag} is for --discovery milo, not for {}", self.mode))
                .collect();
            return if faults.is_empty() { Ok(None) } else { Err(faults) };
        }
        if given.is_empty() {
            return Ok(None);
        }
        let file = self.kubeconfig.as_deref().or(management.kubeconfig.as_deref());
        if file.is_none() && management.context.is_none() {
            return Err(vec![
                "--discovery-context needs --discovery-kubeconfig or --management-kubeconfig: it is a context in that file"
                    .to_owned(),
            ]);
        }
        Ok(Source::named(file, self.context.as_deref()))
    }

    /// What is wrong with the flags, a line for each fault.
    pub fn faults(&self, management: &ManagementArgs) -> Vec<String> {
        self.resolve(management).err().unwrap_or_default()
    }

    /// The server with the Projects, unless it is the management plane. Faults are to be looked for before.
    pub fn projects(&self, management: &ManagementArgs) -> Option<Source> {
        self.resolve(management).ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_server_with_the_projects_is_the_one_that_the_flags_name() {
        let milo = |kubeconfig: Option<&str>, context: Option<&str>| DiscoveryArgs {
            mode: Discovery::Milo,
            kubeconfig: kubeconfig.map(PathBuf::from),
            context: context.map(str::to_owned),
        };
        let management = |kubeconfig: Option<&str>, context: Option<&str>| ManagementArgs {
            kubeconfig: kubeconfig.map(PathBuf::from),
            context: context.map(str::to_owned),
        };
        let file = management(Some("m"), Some("c"));
        let pod = management(None, None);
        assert!(milo(None, None).projects(&file).is_none(), "that of the management plane");
        for (args, management, path, context) in [
            (milo(Some("d"), None), &file, "d", None),
            (milo(Some("d"), Some("x")), &pod, "d", Some("x")),
            (milo(None, Some("x")), &file, "m", Some("x")),
        ] {
            let Some(Source::File { path: at, context: of }) = args.projects(management) else {
                unreachable!("{args:?}")
            };
            assert_eq!((at.as_path(), of.as_deref()), (Path::new(path), context));
        }
        let kubectl = milo(None, Some("x")).projects(&management(None, Some("c")));
        assert!(matches!(kubectl, Some(Source::Kubectl { context }) if context == "x"));
        assert_eq!(milo(None, Some("x")).faults(&pod).len(), 1);
        let secrets = DiscoveryArgs { mode: Discovery::Kubeconfigs, ..milo(Some("d"), Some("x")) };
        assert_eq!(secrets.faults(&file).len(), 2);
    }
}
