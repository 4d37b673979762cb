//! How the commands of `fedhub` and `datumctl-compute` print and ask: tables as kubectl prints them, reports
//! in several formats, colours, progress, questions, and what of that the terminal at hand can show. What a
//! log prints is escaped here, too.

pub mod consent;
pub mod output;
mod plain;
pub mod progress;
pub mod report;
pub mod table;
mod terminal;

pub use plain::{painted_line, plain, plain_json, plain_lines, turns};
pub use terminal::Terminal;
