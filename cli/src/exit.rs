//! How the program ends.

use std::process::ExitCode;

/// An exit code. `docs/cli.md` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub enum Exit {
    /// All is done.
    Done,
    /// Something failed.
    Failed,
    /// The command line, a file or the environment is not understood: nothing was sent.
    Usage,
    /// The time to wait is over, and what was waited for goes on.
    TimedOut,
    /// The command waited for a state that needs an action first, such as a larger quota or an image.
    Blocked,
    /// The question whether to ask for access was answered with no.
    Declined,
    /// Compute is not enabled in the project.
    NotEnabled,
    /// Access was denied or withdrawn.
    Denied,
    /// Access was asked for and is not granted yet.
    Pending,
    /// The platform does not offer compute.
    Unavailable,
    /// Ctrl-C.
    Interrupted,
}

impl Exit {
    /// The number that the process ends with. 9 to 13 are those of other plugins of `datumctl`.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::TimedOut => 3,
            Self::Blocked => 4,
            Self::Declined => 9,
            Self::NotEnabled => 10,
            Self::Denied => 11,
            Self::Pending => 12,
            Self::Unavailable => 13,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
