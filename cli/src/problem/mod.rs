//! What goes wrong, in words for whoever typed the command: a sentence, what to do about it, and the exit code.

mod server;

use fedhub_core::errors::chain;
use kube::runtime::watcher;

use crate::exit::Exit;
use crate::session::failure::Failure;

/// Why a command did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, in one sentence.
    pub sentence: String,
    /// What to do about it.
    pub remedy: Option<String>,
    /// The server's or the library's own words, told with `--verbose`.
    pub raw: Option<String>,
    /// How the program ends.
    pub exit: Exit,
}

impl Problem {
    /// A problem without a remedy.
    pub fn new(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), remedy: None, raw: None, exit }
    }

    /// Something failed.
    pub fn failed(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Failed, sentence)
    }

    /// The command line, a file or the environment is not understood.
    pub fn usage(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Usage, sentence)
    }

    /// Ctrl-C.
    pub fn interrupted() -> Self {
        Self::new(Exit::Interrupted, "Interrupted.")
    }

    /// With what to do about it.
    #[must_use]
    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// With the words of whoever refused.
    #[must_use]
    pub fn raw(self, raw: impl Into<String>) -> Self {
        Self { raw: Some(raw.into()), ..self }
    }

    /// A request that failed. `doing` completes "Could not ...": `list the workloads`.
    pub fn of(error: kube::Error, doing: &str) -> Self {
        let raw = chain(&error);
        let problem = match &error {
            kube::Error::Api(status) => server::refused(status, doing),
            kube::Error::Auth(_) => {
                Self::failed(format!("Could not {doing}: your credentials cannot be read."))
                    .remedy("Log in again with `datumctl auth login`, or check the user in your kubeconfig.")
            }
            kube::Error::Service(cause) => match cause.downcast_ref::<Failure>() {
                Some(failure) => failure.problem(doing),
                None => server::unreachable(doing),
            },
            kube::Error::HyperError(_) | kube::Error::ReadEvents(_) => server::unreachable(doing),
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
                Self::failed(format!("Could not {doing}: the answer of the server is not understood."))
                    .remedy("Check that the host is a Datum platform, and that this program is up to date.")
            }
            _ => Self::failed(format!("Could not {doing}.")),
        };
        problem.raw(raw)
    }

    /// A watch that failed. `doing` completes "Could not ...".
    pub fn of_watch(error: watcher::Error, doing: &str) -> Self {
        match error {
            watcher::Error::InitialListFailed(error)
            | watcher::Error::WatchStartFailed(error)
            | watcher::Error::WatchFailed(error) => Self::of(error, doing),
            watcher::Error::WatchError(status) => Self::of(kube::Error::Api(status), doing),
            watcher::Error::NoResourceVersion => server::unreachable(doing).raw(chain(&error)),
        }
    }

    /// Tells it on standard error, and says how the program ends.
    pub fn tell(&self, verbose: bool) -> Exit {
        eprintln!("{}", self.text(verbose));
        self.exit
    }

    /// What is told.
    pub fn text(&self, verbose: bool) -> String {
        let raw = self.raw.as_ref().filter(|_| verbose).map(|raw| format!("The server says: {raw}"));
        let lines = [Some(format!("Error: {}", self.sentence)), self.remedy.clone(), raw];
        lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}
