//! How the reading commands show what they read: pure functions from objects to text.
//!
//! What is not known is `?`, in JSON `null`; what there is none of is a dash. Nothing is cut or wrapped where
//! standard output is not a terminal.

pub mod condition;
mod fit;
pub mod labelled;
pub mod number;
pub mod object;
pub mod sheet;
pub mod site;
pub mod text;

use fedhub_terminal::Terminal;
use fedhub_terminal::output::Format;

use crate::session::Session;

/// Stands for a value that is not known.
pub const UNKNOWN: &str = "?";
/// Stands for a value that does not exist and could.
pub const NONE: &str = "—";

/// How a command is to print.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// The output format.
    pub format: Format,
    /// Whether tables come without their header.
    pub no_headers: bool,
    /// The properties of standard output.
    pub terminal: Terminal,
}

impl Look {
    /// Returns the look that the command line of a session asks for.
    pub fn from_session(session: &Session) -> Self {
        let format = session.global.output;
        let no_headers = session.global.no_headers;
        Self { format, no_headers, terminal: session.terminal }
    }

    /// Whether tables have all their columns.
    pub fn is_wide(&self) -> bool {
        self.format == Format::Wide
    }
}
