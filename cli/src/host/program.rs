//! By which name the program was called.

use std::ffi::OsString;
use std::path::Path;

/// The program that this one is a plugin of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Program {
    /// `datumctl compute`; also where a shell started it.
    #[default]
    Datumctl,
    /// `kubectl compute`: kubeconfigs, and no variables of datumctl.
    Kubectl,
    /// `kubectl_complete-compute`: kubectl asks for completions.
    KubectlComplete,
}

impl Program {
    /// Returns the program that a command line is of, and the arguments after the program's name.
    pub fn from_line(mut line: Vec<OsString>) -> (Self, Vec<OsString>) {
        if line.is_empty() {
            return (Self::default(), line);
        }
        let arguments = line.split_off(1);
        let name = line.first().and_then(|path| Path::new(path).file_stem()).and_then(|name| name.to_str());
        let program = match name.unwrap_or_default() {
            name if name.starts_with("kubectl_complete-") => Self::KubectlComplete,
            name if name.starts_with("kubectl-") => Self::Kubectl,
            _ => Self::Datumctl,
        };
        (program, arguments)
    }

    /// How users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Datumctl => "datumctl compute",
            Self::Kubectl | Self::KubectlComplete => "kubectl compute",
        }
    }

    /// A command of it, to be typed: `datumctl compute access`.
    pub fn command(self, rest: &str) -> String {
        format!("{} {rest}", self.name())
    }

    /// Whether kubectl starts it.
    pub fn is_kubectl(self) -> bool {
        self != Self::Datumctl
    }
}
