//! `fedhub pause` and `fedhub resume`: tell fedhub to write nothing for one plane, or for all of them (I12).

mod report;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use fedhub_core::names::PlaneName;
use fedhub_planes::pauses::stored::{Pause, update};
use fedhub_terminal::output::print;
use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::common::{ManagementArgs, OwnNamespaceArgs, formerly_namespace, misuse, perform, plane_name};
use crate::discovery::{DiscoveryArgs, of_operators};
use crate::operator::connect::of_source;
use crate::operator::discovery::PlaneSource;
use crate::operator::planes::remembered;
use crate::operator::read::Read;
use report::{Change, paused, resumed};

/// The longest reason: it is shown in tables, and all pauses are in one object.
const REASON_MAX: usize = 256;

/// How long a read may take that looks for a plane.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What is paused or resumed, and where that is stored.
#[derive(Debug, clap::Args)]
pub struct Target {
    /// The project plane, by its name in fedhub; without it, all planes at once, those that join later too.
    #[arg(long, value_name = "NAME", value_parser = plane_name)]
    pub plane: Option<PlaneName>,
    /// The management plane.
    #[command(flatten)]
    pub management: ManagementArgs,
    /// Where the pause is stored.
    #[command(flatten)]
    pub own: OwnNamespaceArgs,
}

/// The flags of `fedhub pause`.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("discovery", of_operators),
    mut_arg("management_namespace", formerly_namespace),
    after_help = "\
fedhub goes on reading, and honours the pause within seconds, without a restart and whoever leads. Nothing is written
for the plane, neither there nor on the hub: changes, status and deletions wait, finalizers stay, what is edited by hand
is not repaired. What runs in cells keeps running, and cells go on writing to the hub what they report.

Examples:
  fedhub pause --plane project-a --reason 'etcd maintenance until 18:00' --management-kubeconfig management.yaml
  fedhub pause --reason 'hub upgrade' --management-kubeconfig management.yaml

Exit codes: 0: done; 1: no plane has that name, or the management plane cannot be read or written, so that nothing was
            changed; 2: misuse."
)]
pub struct PauseArgs {
    /// What is paused.
    #[command(flatten)]
    pub target: Target,
    /// Why, for those who find it paused.
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    pub reason: Option<String>,
    /// Where project planes are found, for a name that fedhub does not remember.
    #[command(flatten)]
    pub discovery: DiscoveryArgs,
    /// Pause a name that no plane has: one that is to come, or where planes cannot be looked for.
    #[arg(long, requires = "plane")]
    pub force: bool,
}

/// The flags of `fedhub resume`.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("management_namespace", formerly_namespace),
    after_help = "\
Without --plane the pause of all planes ends; a plane that was paused by its name stays paused until it is resumed by it.

Examples:
  fedhub resume --plane project-a --management-kubeconfig management.yaml
  fedhub resume --management-kubeconfig management.yaml

Exit codes: 0: done; 1: nothing was changed, for the management plane cannot be read or written; 2: misuse."
)]
pub struct ResumeArgs {
    /// What is resumed.
    #[command(flatten)]
    pub target: Target,
}

fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || text.len() > REASON_MAX || text.contains(char::is_control) {
        return Err(format!("a reason is one line of 1 to {REASON_MAX} bytes"));
    }
    Ok(text.to_owned())
}

/// Pauses, and prints what that means.
pub fn pause(args: &PauseArgs) -> ExitCode {
    misuse(&args.discovery.faults(&args.target.management)).unwrap_or_else(|| run(perform_pause(args)))
}

/// Resumes, and prints what stays paused.
pub fn resume(args: &ResumeArgs) -> ExitCode {
    run(perform_resume(&args.target))
}

fn run(command: impl Future<Output = anyhow::Result<String>>) -> ExitCode {
    perform(async {
        print(&command.await?)?;
        Ok(ExitCode::SUCCESS)
    })
}

async fn perform_pause(args: &PauseArgs) -> anyhow::Result<String> {
    let target = &args.target;
    let client = client(&args.target)?;
    if let Some(plane) = target.plane.as_ref()
        && !args.force
    {
        exists(args, plane).await?;
    }
    let by = user(&client).await;
    let new = Pause { reason: args.reason.clone(), by, since: Some(format!("{:.0}", Timestamp::now())) };
    let change = update(&client, &target.own.management_namespace, |stored| {
        let change = Change::pause(stored, target.plane.as_ref(), &new);
        let news = change.is_news();
        (change, news)
    });
    let change = change.await.context("failed to store the pause: nothing was changed")?;
    Ok(paused(target.plane.as_ref(), &change, &target.own.management_namespace))
}

/// An error where no plane has the name: a pause of a name that is misspelt would stop nothing.
async fn exists(args: &PauseArgs, plane: &PlaneName) -> anyhow::Result<()> {
    let target = &args.target;
    let management = Read::Found(of_source(&target.management.source(), TIMEOUT)?);
    let remembered = remembered(&management, &target.own.management_namespace).await;
    if remembered.found().is_some_and(|planes| planes.contains_key(plane.as_str())) {
        return Ok(());
    }
    let of_management = (&target.management, &management);
    let source =
        PlaneSource::from_args(&args.discovery, of_management, &target.own.management_namespace, TIMEOUT)?;
    match source.find(plane.as_str()).await {
        Read::Found(_) => Ok(()),
        Read::Absent | Read::Skipped => bail!(
            "no plane is named {plane}: fedhub remembers none, and discovery {} finds none; fedhub planes lists them, and \
             --force pauses a plane that is to come",
            source.mode
        ),
        Read::Failed(error) => bail!(
            "failed to look for plane {plane} by discovery {}: {}; --force pauses it without looking",
            source.mode,
            error.message
        ),
    }
}

async fn perform_resume(target: &Target) -> anyhow::Result<String> {
    let client = client(target)?;
    let change = update(&client, &target.own.management_namespace, |stored| {
        let change = Change::resume(stored, target.plane.as_ref());
        let news = change.is_news();
        ((change, stored.clone()), news)
    });
    let (change, left) = change.await.context("failed to end the pause: nothing was changed")?;
    Ok(resumed(target.plane.as_ref(), &change, &left, &target.own.management_namespace))
}

fn client(target: &Target) -> anyhow::Result<Client> {
    let management = of_source(&target.management.source(), TIMEOUT);
    Ok(management.context("failed to connect to the management plane")?.client)
}

/// Who the management plane says that the operator is; nobody where it does not say.
async fn user(client: &Client) -> Option<String> {
    let api: Api<SelfSubjectReview> = Api::all(client.clone());
    let answer = api.create(&PostParams::default(), &SelfSubjectReview::default()).await.ok()?;
    answer.status?.user_info?.username
}
