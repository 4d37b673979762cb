//! Access in sentences: pure. No object is named; the platform's own words are passed on.

use fedhub_terminal::plain;
use fedhub_terminal::table::age;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::plan::is_overdue;
use super::state::{Access, State};
use crate::exit::Exit;
use crate::problem::Problem;

/// The situation of the reader of the sentences.
pub struct Reader<'a> {
    /// The project: `project "shop"`.
    pub project: &'a str,
    /// A command of this program, to be typed.
    pub command: &'a dyn Fn(&str) -> String,
    /// Now.
    pub now: Timestamp,
}

impl Reader<'_> {
    /// The state, and what to do next.
    pub fn told(&self, access: &Access) -> String {
        let lines = [
            Some(self.sentence(access)),
            access.message.as_ref().map(|it| format!("  {}", plain(it))),
            self.next(access),
        ];
        lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }

    /// The state as the reason why a command does not run.
    pub fn stopped(&self, access: &Access) -> Problem {
        let exit = match access.state {
            State::NotRequested => Exit::NotEnabled,
            State::Processing | State::PendingApproval => Exit::Pending,
            State::Denied | State::Revoked => Exit::Denied,
            State::Unavailable => Exit::Unavailable,
            State::CatalogUnavailable | State::Active | State::Suspended => Exit::Failed,
        };
        let message = access.message.as_ref().map_or_else(String::new, |it| format!("\n  {}", plain(it)));
        let problem = Problem::new(exit, format!("{}{message}", self.sentence(access)));
        match self.next(access) {
            Some(next) => problem.remedy(next),
            None => problem,
        }
    }

    fn sentence(&self, access: &Access) -> String {
        let project = self.project;
        let ago =
            access.requested.map_or_else(String::new, |at| format!(", asked for {} ago", age(at, self.now)));
        match access.state {
            State::CatalogUnavailable => {
                format!("Compute needs no request in {project}: its platform does not keep any.")
            }
            State::NotRequested => format!("Compute is not enabled in {project}."),
            State::Processing if is_overdue(access, self.now) => {
                format!(
                    "Compute is not enabled in {project} yet{ago}: the platform has not answered, which usually takes seconds."
                )
            }
            State::Processing => format!("Compute is being enabled in {project}{ago}."),
            State::PendingApproval => format!("Compute in {project} awaits the provider's approval{ago}."),
            State::Active => {
                let since =
                    access.entitled.map_or_else(String::new, |at| format!(" for {}", age(at, self.now)));
                format!("Compute is enabled in {project}{since}.")
            }
            State::Suspended => {
                format!("Compute is suspended in {project}: nothing runs until the provider resumes it.")
            }
            State::Denied => format!("Compute was denied to {project}."),
            State::Revoked => format!("Compute was enabled in {project} and has been withdrawn."),
            State::Unavailable => "Compute is not offered on this platform.".to_owned(),
        }
    }

    fn next(&self, access: &Access) -> Option<String> {
        let command = self.command;
        Some(match access.state {
            State::CatalogUnavailable | State::Active | State::Unavailable => return None,
            State::NotRequested => format!("Ask for it with `{}`.", command("access request")),
            State::Processing if is_overdue(access, self.now) => {
                format!("Tell the platform's support; look again with `{}`.", command("access"))
            }
            State::Processing | State::PendingApproval => {
                format!("Wait for it with `{}`.", command("access request --wait"))
            }
            State::Suspended => "Ask the platform's support why.".to_owned(),
            State::Denied | State::Revoked => {
                format!("Ask for it again with `{}`.", command("access request --renew --message '...'"))
            }
        })
    }
}

/// The state for programs, as other plugins print it.
pub fn structured(access: &Access, project: Option<&str>) -> Value {
    json!({
        "service": fedhub_core::names::SERVICE_NAME.1,
        "project": project,
        "state": access.state.to_string(),
        "entitlement": access.entitlement,
        "message": access.message,
        "requestedAt": access.requested.map(fedhub_core::clock::stamp),
        "entitledAt": access.entitled.map(fedhub_core::clock::stamp),
    })
}
