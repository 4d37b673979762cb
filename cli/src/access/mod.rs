//! `access`: whether compute is enabled in the project, and how it comes to be. The same question is asked
//! before every other command; only those that change something enable it.

pub mod catalog;
pub mod plan;
mod requests;
pub mod state;
pub mod words;

use std::time::Duration;

use jiff::Timestamp;
use plan::{Consent, FIRST_ANSWER, Gate};
use state::{Access, State};
use words::Reader;

use crate::args::{examples, timeout};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::session::Session;

/// The longest message that a request may carry, in characters.
const LONGEST_MESSAGE: usize = 1024;

/// The flags of `access`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AccessArgs {
    /// What to do, in place of showing how it is.
    #[command(subcommand)]
    pub command: Option<AccessCommand>,
}

/// The commands below `access`.
#[derive(Debug, clap::Subcommand)]
pub enum AccessCommand {
    /// Ask for compute in the project. What was asked for already is told, and is no error.
    #[command(after_help = examples::ACCESS_REQUEST)]
    Request(RequestArgs),
}

/// The flags of `access request`.
#[derive(Debug, Default, clap::Args)]
pub struct RequestArgs {
    /// A note for the approver.
    #[arg(long, value_name = "TEXT", value_parser = message)]
    pub message: Option<String>,
    /// Ask again after compute was denied or withdrawn.
    #[arg(long)]
    pub renew: bool,
    /// Wait until it is decided.
    #[arg(long)]
    pub wait: bool,
    /// How long to wait, such as 90s or 10m; 0 for as long as it takes.
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = timeout::parse)]
    pub timeout: Duration,
}

fn message(text: &str) -> Result<String, String> {
    let length = text.chars().count();
    if length <= LONGEST_MESSAGE {
        return Ok(text.to_owned());
    }
    Err(format!("{length} characters are too many: at most {LONGEST_MESSAGE}"))
}

/// Runs the command.
pub async fn run(session: &Session, args: &AccessArgs) -> Result<(), Problem> {
    match &args.command {
        None => show(session, &requests::access(session).await?),
        Some(AccessCommand::Request(args)) => request(session, args).await,
    }
}

/// Makes sure that compute is enabled, before a command of the project runs: only one that writes may ask for
/// it.
pub async fn gate(session: &Session, writes: bool) -> Result<(), Problem> {
    if session.project.is_none() {
        return Ok(());
    }
    let Some(access) = requests::visible(session).await? else {
        session.tell("Whether compute is enabled is not known: your account may not see it.");
        return Ok(());
    };
    match plan::gate(&access, Timestamp::now()) {
        Gate::Pass => Ok(()),
        Gate::Warn => {
            told(session, &access);
            Ok(())
        }
        Gate::Await => after_wait(session).await,
        Gate::Ask => enable(session, &access, writes).await,
        Gate::Stop => Err(stopped(session, &access)),
    }
}

/// Enables compute before another command runs, where that needs no approval or the user agrees to request
/// it.
async fn enable(session: &Session, access: &Access, writes: bool) -> Result<(), Problem> {
    let offer = requests::offer(session).await?;
    let project = session.project_in_words();
    match plan::consent(&offer, session.terminal.can_ask(), writes) {
        Consent::Impossible => return Err(stopped(session, &Access::without(State::Unavailable))),
        Consent::Missing => return Err(stopped(session, access)),
        Consent::Given => session.tell(&format!("Enabling compute in {project} ...")),
        Consent::Question => {
            let question = format!(
                "Compute is not enabled in {project}, and the provider has to approve it. Ask for it?"
            );
            if !session.confirms(&question, false).await {
                return Err(Problem::new(Exit::Declined, "Nothing was asked for.")
                    .remedy(format!("Ask later with `{}`.", session.command("access request"))));
            }
        }
    }
    requests::ask(session, &offer, None).await?;
    after_wait(session).await
}

/// Waits for the platform's first answer: the command runs, or not.
async fn after_wait(session: &Session) -> Result<(), Problem> {
    let access = requests::wait(session, Some(FIRST_ANSWER), Access::is_answered).await?;
    match plan::gate(&access, Timestamp::now()) {
        Gate::Pass => {
            session.tell(&format!("Compute is enabled in {}.", session.project_in_words()));
            Ok(())
        }
        Gate::Warn => {
            told(session, &access);
            Ok(())
        }
        Gate::Await | Gate::Ask | Gate::Stop => Err(stopped(session, &access)),
    }
}

async fn request(session: &Session, args: &RequestArgs) -> Result<(), Problem> {
    let access = requests::access(session).await?;
    let message = args.message.as_deref();
    match plan::request(&access, args.renew) {
        plan::Request::Refused => return Err(stopped(session, &access)),
        plan::Request::Stands => {}
        todo @ (plan::Request::Create | plan::Request::Renew) => {
            let offer = requests::offer(session).await?;
            if plan::consent(&offer, true, true) == Consent::Impossible {
                return Err(stopped(session, &Access::without(State::Unavailable)));
            }
            session.tell(&format!("Asking for compute in {} ...", session.project_in_words()));
            match access.entitlement.as_ref().filter(|_| todo == plan::Request::Renew) {
                Some(old) => requests::renew(session, old, &offer, message).await?,
                None => requests::ask(session, &offer, message).await?,
            }
        }
    }
    if args.wait {
        session.tell("Waiting for the decision; Ctrl-C stops the waiting, and nothing else.");
        let decided = requests::wait(session, timeout::limit(args.timeout), Access::is_decided).await?;
        return ended(session, &decided, false);
    }
    let answered =
        requests::wait(session, Some(FIRST_ANSWER), |it| it.is_answered() || is_overdue(it)).await?;
    ended(session, &answered, true)
}

fn is_overdue(access: &Access) -> bool {
    plan::is_overdue(access, Timestamp::now())
}

/// The end of a request: that it stands is success, unless access was waited for in vain.
fn ended(session: &Session, access: &Access, standing_is_fine: bool) -> Result<(), Problem> {
    match access.state {
        // If it is no longer requested, another writer deleted the request.
        State::Denied | State::Revoked | State::Unavailable | State::NotRequested => {
            Err(stopped(session, access))
        }
        State::Processing | State::PendingApproval | State::Suspended if !standing_is_fine => {
            Err(stopped(session, access))
        }
        _ => show(session, access),
    }
}

fn show(session: &Session, access: &Access) -> Result<(), Problem> {
    let project = session.project.as_deref();
    session.print(|| words::structured(access, project), || reader(session, |reader| reader.told(access)))
}

fn told(session: &Session, access: &Access) {
    session.tell(&reader(session, |reader| reader.told(access)));
}

fn stopped(session: &Session, access: &Access) -> Problem {
    reader(session, |reader| reader.stopped(access))
}

fn reader<T>(session: &Session, read: impl FnOnce(&Reader) -> T) -> T {
    let project = session.project_in_words();
    let command = |rest: &str| session.command(rest);
    read(&Reader { project: &project, command: &command, now: Timestamp::now() })
}
