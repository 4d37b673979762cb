//! The planes that a command reads, by its flags.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use fedhub_core::clock::parse_duration;
use fedhub_planes::discovery::credentials::Source;

use super::connect::{Connection, of_source};
use super::discovery::PlaneSource;
use super::named_file;
use super::read::Read;
use crate::common::{HubArgs, ManagementArgs, OwnNamespaceArgs};
use crate::discovery::{DiscoveryArgs, of_operators};

/// The flags of the planes that a command reads. A command that takes longer reads sets another default of
/// `timeout`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("discovery", of_operators))]
pub struct SourceArgs {
    /// The hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// The management plane, which has fedhub's Lease and, of discovery `kubeconfigs`, the Secrets of project
    /// planes.
    #[command(flatten)]
    pub management: ManagementArgs,
    /// Where fedhub is on it.
    #[command(flatten)]
    pub own: OwnNamespaceArgs,
    /// Where project planes are found.
    #[command(flatten)]
    pub discovery: DiscoveryArgs,
    /// Name and kubeconfig of a project plane, in place of what discovery finds; may be given more than once.
    #[arg(long = "project-kubeconfig", value_name = "NAME=FILE", value_parser = named_file)]
    pub project_kubeconfigs: Vec<(String, PathBuf)>,
    /// Name, as Karmada has it, and kubeconfig of a cell, which is read too then; may be given more than
    /// once.
    #[arg(long = "cell-kubeconfig", value_name = "NAME=FILE", value_parser = named_file)]
    pub cell_kubeconfigs: Vec<(String, PathBuf)>,
    /// How long each read may take, of a list each page; all reads of a plane may take 24 times as long.
    #[arg(long, default_value = "5s", value_parser = parse_duration, value_name = "DURATION")]
    pub timeout: Duration,
}

impl SourceArgs {
    /// What is wrong with the flags together, a line for each fault.
    pub fn faults(&self) -> Vec<String> {
        self.discovery.faults(&self.management)
    }

    /// Where project planes are found.
    pub fn planes(&self, management: &Connection) -> anyhow::Result<PlaneSource> {
        let management = (&self.management, management);
        PlaneSource::from_args(&self.discovery, management, &self.own.management_namespace, self.timeout)
    }

    /// The hub.
    pub fn hub(&self) -> anyhow::Result<Connection> {
        Ok(Read::Found(of_source(&self.hub.required()?, self.timeout)?))
    }

    /// The project planes whose kubeconfigs were given.
    pub fn projects(&self) -> anyhow::Result<BTreeMap<String, Connection>> {
        self.files(&self.project_kubeconfigs)
    }

    /// The cells whose kubeconfigs were given.
    pub fn cells(&self) -> anyhow::Result<BTreeMap<String, Connection>> {
        self.files(&self.cell_kubeconfigs)
    }

    fn files(&self, files: &[(String, PathBuf)]) -> anyhow::Result<BTreeMap<String, Connection>> {
        let each = files.iter().map(|(name, file)| {
            let plane = of_source(&Source::file(file, None), self.timeout);
            let plane = plane.with_context(|| format!("failed to connect to {name}"))?;
            Ok((name.clone(), Read::Found(plane.of_others())))
        });
        each.collect()
    }

    /// The management plane. Where the project planes are given, `optional`, a command may do without.
    pub fn management(&self, optional: bool) -> anyhow::Result<Connection> {
        match of_source(&self.management.source(), self.timeout) {
            Ok(plane) => Ok(Read::Found(plane)),
            Err(_) if optional && self.management.kubeconfig.is_none() => Ok(Read::Skipped),
            Err(error) => Err(error).context("failed to connect to the management plane"),
        }
    }
}
