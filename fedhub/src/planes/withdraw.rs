//! `fedhub planes withdraw`: an operator's decision that a project has lost the service. fedhub decides it by
//! itself only where it saw the entitlement go (I4).

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use fedhub_core::clock::parse_duration;
use fedhub_core::names::PlaneName;
use fedhub_planes::entitlement::{Entitlement, Grant};
use fedhub_planes::identity::{IdentityEntry, withdrawal};
use fedhub_terminal::consent::{agrees, can_ask};
use fedhub_terminal::output::{print, print_error};

use super::count::count;
use super::report::Counts;
use super::service::shown;
use crate::common::{ManagementArgs, OwnNamespaceArgs, misuse, perform, plane_name};
use crate::discovery::{DiscoveryArgs, of_operators};
use crate::operator::connect::{Connection, of_source};
use crate::operator::discovery::PlaneSource;
use crate::operator::fleet::check_identity;
use crate::operator::planes::entries;
use crate::operator::read::Read;

/// The exit code where nothing was withdrawn, as it was answered.
const DECLINED: u8 = 3;

/// The flags of `fedhub planes withdraw`.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("discovery", of_operators),
    after_help = "\
For a project whose ServiceEntitlement is missing and was not seen to be deleted (the metric
fedhub_entitlements_missing): fedhub keeps what runs there until an operator decides. It is refused where the project's
plane shows an entitlement, or cannot be read. Shows how much there is, and asks. An entitlement that comes back later
grants the service again.

Examples:
  fedhub planes withdraw project-a --management-kubeconfig management.yaml --discovery milo \\
      --discovery-kubeconfig milo.yaml

Exit codes: 0: it is withdrawn; 1: nothing was changed, for there is nothing to withdraw, or a plane cannot be read or
            written; 2: misuse; 3: nothing was withdrawn, as it was answered."
)]
pub struct WithdrawArgs {
    /// The project, by the name of its plane in fedhub.
    #[arg(value_name = "PROJECT", value_parser = plane_name)]
    pub project: PlaneName,
    /// The management plane.
    #[command(flatten)]
    pub management: ManagementArgs,
    /// Where fedhub remembers what was granted.
    #[command(flatten)]
    pub own: OwnNamespaceArgs,
    /// Where project planes are found.
    #[command(flatten)]
    pub discovery: DiscoveryArgs,
    /// How long each read may take, of a list each page.
    #[arg(long, default_value = "5s", value_parser = parse_duration, value_name = "DURATION")]
    pub timeout: Duration,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

/// Shows what it means, asks, and withdraws.
pub fn main(args: &WithdrawArgs) -> ExitCode {
    let mut faults = args.discovery.faults(&args.management);
    if !args.yes && !can_ask() {
        faults.push(
            "withdraw asks before it writes, and there is no terminal; --yes does without asking".to_owned(),
        );
    }
    misuse(&faults).unwrap_or_else(|| perform(withdraw(args)))
}

async fn withdraw(args: &WithdrawArgs) -> anyhow::Result<ExitCode> {
    let project = &args.project;
    let namespace = &args.own.management_namespace;
    let management = of_source(&args.management.source(), args.timeout)
        .context("failed to connect to the management plane")?;
    let client = management.client.clone();
    let management = Read::Found(management);
    let remembered = entries(&management, namespace)
        .await
        .required(|| "failed to list configmaps on the management plane".to_owned())?;
    if standing(project, remembered.get(project.as_str()))? == Standing::Withdrawn {
        print(&format!("the service of project {project} is withdrawn already"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let source =
        PlaneSource::from_args(&args.discovery, (&args.management, &management), namespace, args.timeout)?;
    let counts = missing(args, &source, &remembered).await?;
    print_error(&meaning(project, counts));
    let question = format!("Withdraw the service from project {project}?");
    if !args.yes && !agrees(&question, project.as_str()) {
        print("nothing was withdrawn")?;
        return Ok(ExitCode::from(DECLINED));
    }
    let stored = withdrawal::withdraw(&client, namespace, project).await;
    if !stored.context("failed to store the withdrawal: nothing was changed")? {
        bail!(
            "what fedhub remembers of project {project} has changed meanwhile: nothing was changed; run the command again"
        );
    }
    print(&outcome(project))?;
    Ok(ExitCode::SUCCESS)
}

/// The service in a project, as far as it may be withdrawn.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    /// It was granted.
    Granted,
    /// It is withdrawn.
    Withdrawn,
}

/// What fedhub remembers of the service in a project; an error where there is nothing to withdraw.
fn standing(project: &PlaneName, remembered: Option<&IdentityEntry>) -> anyhow::Result<Standing> {
    let Some(entry) = remembered else {
        bail!("fedhub remembers no plane {project}: nothing was changed; fedhub planes lists them");
    };
    match entry.grant {
        Some(Grant::Granted | Grant::Suspended) => Ok(Standing::Granted),
        Some(Grant::Withdrawn) => Ok(Standing::Withdrawn),
        None => bail!(
            "fedhub never saw an entitlement in project {project}: there is nothing to withdraw, and nothing was changed"
        ),
    }
}

/// How many WDs the plane of a project has whose entitlement is missing; an error where it is not, or where
/// that cannot be told.
async fn missing(
    args: &WithdrawArgs,
    source: &PlaneSource,
    remembered: &BTreeMap<String, IdentityEntry>,
) -> anyhow::Result<Counts> {
    let project = &args.project;
    let found = match source.find(project.as_str()).await {
        Read::Found(found) => found,
        Read::Absent | Read::Skipped => {
            bail!("discovery {} finds no plane {project}: nothing was changed", source.mode)
        }
        Read::Failed(error) => {
            bail!("failed to look for plane {project} by discovery {}: {}", source.mode, error.message)
        }
    };
    let plane: Connection = found.connection(args.timeout);
    let identities = remembered.iter().map(|(name, entry)| (name.clone(), entry.identity.clone())).collect();
    check_identity(project, &plane, &identities)
        .await
        .map_err(|unread| anyhow!("plane {project} cannot be read: {}", unread.problem.message))?;
    let shown = match shown(&plane).await {
        Read::Found(shown) => shown,
        Read::Absent | Read::Skipped => Entitlement::Unreadable,
        Read::Failed(error) => {
            bail!(
                "failed to list serviceentitlements on project {project}: {}: nothing was changed",
                error.message
            )
        }
    };
    if let Some(objection) = objection(project, shown) {
        bail!(objection);
    }
    let labels = source.deployments();
    count(&plane, &labels).await.map_err(|error| {
        anyhow!("failed to list workloaddeployments on project {project}: {}", error.message)
    })
}

/// Why a project does not lose the service whose entitlements say that.
fn objection(project: &PlaneName, shown: Entitlement) -> Option<String> {
    let says = match shown {
        Entitlement::Absent | Entitlement::Deleted => return None,
        Entitlement::Active => "it is active",
        Entitlement::Suspended => "it is suspended",
        Entitlement::Undecided => "it is not decided yet",
        Entitlement::Denied | Entitlement::Revoked => {
            "it is rejected, and fedhub withdraws the service by itself"
        }
        Entitlement::Unreadable => "it cannot be read",
    };
    Some(format!("project {project} has an entitlement to the service: {says}; nothing was changed"))
}

/// What an operator has to know before it is done.
fn meaning(project: &PlaneName, counts: Counts) -> String {
    format!(
        "project {project} has no entitlement to the service, and fedhub did not see it go. Once the service is withdrawn,\n\
         the project's WorkloadDeployments leave the hub and its Instances are deleted in the cells ({counts}).\n\
         If the entitlement should be there, create it again instead."
    )
}

fn outcome(project: &PlaneName) -> String {
    format!(
        "the service of project {project} is withdrawn: fedhub removes what runs of it within the minute, unless it is paused \
         or an entitlement comes back"
    )
}

#[cfg(test)]
mod tests {
    use fedhub_testing::{Messages, assert_messages};

    use super::*;

    fn project() -> PlaneName {
        PlaneName::new("project-a").unwrap()
    }

    #[test]
    fn i4_u4_only_what_was_granted_and_is_missing_is_withdrawn() {
        let entry = |stored: &str| IdentityEntry::read(stored).unwrap();
        let standing = |stored: &str| standing(&project(), Some(&entry(stored))).ok();
        assert_eq!(standing("k/p/granted"), Some(Standing::Granted));
        assert_eq!(standing("k/p/suspended"), Some(Standing::Granted));
        assert_eq!(standing("k/p/withdrawn"), Some(Standing::Withdrawn));
        assert_eq!(standing("k/p"), None);
        assert!(super::standing(&project(), None).is_err());
        for (shown, allowed) in [
            (Entitlement::Absent, true),
            (Entitlement::Unreadable, false),
            (Entitlement::Active, false),
            (Entitlement::Suspended, false),
            (Entitlement::Undecided, false),
            (Entitlement::Denied, false),
            (Entitlement::Revoked, false),
        ] {
            assert_eq!(objection(&project(), shown).is_none(), allowed, "{shown:?}");
        }
    }

    #[test]
    fn u4_what_a_withdrawal_means_reads_well() {
        let mut counts = Counts::default();
        (0..40).for_each(|n| counts.add(n > 0, n == 7));
        let unknown = standing(&project(), None).unwrap_err().to_string();
        let entry = IdentityEntry::read("k/p").unwrap();
        let never = standing(&project(), Some(&entry)).unwrap_err().to_string();
        let active = objection(&project(), Entitlement::Active).unwrap();
        let mut messages = Messages::default();
        messages.section(
            "fedhub planes withdraw",
            [
                ("no such plane", unknown),
                ("never granted", never),
                ("an entitlement is there", active),
                ("before it is asked", meaning(&project(), counts)),
                ("done", outcome(&project())),
            ],
        );
        assert_messages!("planes-withdraw", messages);
    }
}
