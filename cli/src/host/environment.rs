//! The variables that `datumctl` sets for its plugins. One that is empty is one that is not set.

/// The environment variables that the program reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `DATUM_PROJECT`: the project.
    pub project: Option<String>,
    /// `DATUM_API_HOST`: host of the platform, without a scheme.
    pub api_host: Option<String>,
    /// `DATUM_CREDENTIALS_HELPER`: path of the program that gives tokens.
    pub credentials_helper: Option<String>,
    /// `DATUM_SESSION`: which login that program is to use.
    pub session: Option<String>,
    /// `DATUM_PLUGIN_API_VERSION`: the version of the contract, which the host names with or without a login.
    pub api_version: Option<String>,
}

impl Environment {
    /// Reads the environment of a process, of which `variable` returns the values.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        Self {
            project: set("DATUM_PROJECT"),
            api_host: set("DATUM_API_HOST"),
            credentials_helper: set("DATUM_CREDENTIALS_HELPER"),
            session: set("DATUM_SESSION"),
            api_version: set("DATUM_PLUGIN_API_VERSION"),
        }
    }

    /// Whether `datumctl` started the program. Without a login it names no host, and starts it all the same.
    pub fn is_hosted(&self) -> bool {
        self.api_version.is_some() || self.credentials_helper.is_some() || self.api_host.is_some()
    }
}
