//! The project planes that a discovery finds, as `fedhub run` finds them.

use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::Context;
use fedhub_api::conditions::is_true;
use fedhub_core::errors;
use fedhub_core::names::{PLANE_NAME, PLANE_SECRET, PlaneName, UPSTREAM_NAMESPACE};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::discovery::credentials::Source;
use fedhub_planes::discovery::kubeconfigs::{plane_of, selector};
use fedhub_planes::discovery::milo::{path, resource};
use fedhub_planes::discovery::{Discovery, single};
use fedhub_planes::watched::Watched;
use kube::Config;

use super::connect::{self, Connection};
use super::planes::config_of_secret;
use super::read::{Failure, Read, ReadError};
use super::requests::{Part, Query, each, get, list};
use crate::common::ManagementArgs;
use crate::discovery::DiscoveryArgs;

/// A project plane that was found.
#[derive(Clone)]
pub struct Found {
    /// Its name, which need not be one that a plane can have.
    pub name: String,
    /// The Secret with its kubeconfig, where one has it.
    pub secret: Option<String>,
    /// How to reach it, or why it cannot be reached.
    pub config: Result<Config, String>,
    /// Whether fedhub engages it by itself: a Project may be not Ready, or be deleted, and WDs of it have
    /// fedhub's finalizer all the same.
    pub ready: bool,
}

impl Found {
    /// Returns the connection that asks it.
    pub fn connection(&self, timeout: Duration) -> Connection {
        let plane = self.config.clone().and_then(|config| {
            connect::plane(config, timeout).map_err(|error| errors::chain(error.as_ref()))
        });
        plane.map_or_else(
            |message| Read::Failed(ReadError { failure: Failure::Invalid, message }),
            |plane| Read::Found(plane.of_others()),
        )
    }
}

/// The source of project planes.
#[derive(Clone)]
pub struct PlaneSource {
    /// How.
    pub mode: Discovery,
    /// fedhub's namespace on the management plane, where the Secrets are.
    pub namespace: String,
    /// The server with the Secrets or the Projects, or the plane itself.
    pub server: Connection,
    /// How that is reached.
    pub config: Result<Config, String>,
}

impl PlaneSource {
    /// Creates the source from the flags of a command, which are valid.
    pub fn from_args(
        args: &DiscoveryArgs,
        management: (&ManagementArgs, &Connection),
        namespace: &str,
        timeout: Duration,
    ) -> anyhow::Result<Self> {
        let read = |source: &Source| source.read().map(|loaded| loaded.config);
        let (server, config) = match args.projects(management.0) {
            Some(source) => {
                let doing = "failed to connect to the server with the Projects";
                let config = read(&source).context(doing)?;
                (Read::Found(connect::plane(config.clone(), timeout).context(doing)?), Ok(config))
            }
            // Each of its Secrets has a kubeconfig of its own.
            None if args.mode == Discovery::Kubeconfigs => (management.1.clone(), Err(String::new())),
            None => {
                let config = read(&management.0.source()).map_err(|error| errors::chain(&error));
                (management.1.clone(), config)
            }
        };
        Ok(Self { mode: args.mode, namespace: namespace.to_owned(), server, config })
    }

    /// Lists all planes.
    pub async fn list(&self) -> Read<Vec<Found>> {
        match self.mode {
            Discovery::Single if self.server.found().is_none() => Read::Skipped,
            Discovery::Single => Read::Found(vec![self.single()]),
            Discovery::Kubeconfigs => {
                let secrets = list(&self.server, Kind::Secret.resource(), &self.namespace, &selector()).await;
                secrets.map(|secrets| secrets.iter().map(of_secret).collect())
            }
            Discovery::Milo => {
                let projects = list(&self.server, resource(), "", "").await;
                projects.map(|all| all.iter().map(|project| self.of_project(project)).collect())
            }
        }
    }

    /// The plane of that name, by as few reads as can be: what the reads of others find is not needed.
    pub async fn find(&self, name: &str) -> Read<Found> {
        match self.mode {
            Discovery::Single if self.server.found().is_none() => Read::Skipped,
            Discovery::Single if name == single::NAME => Read::Found(self.single()),
            Discovery::Single => Read::Absent,
            Discovery::Kubeconfigs => self.find_secret(name).await,
            Discovery::Milo => self.find_project(name).await,
        }
    }

    /// The labels by which the WDs of projects are listed there. Where the plane may be a cell as well, those
    /// that Karmada brings are the cell's, as `fedhub run` has it.
    pub fn deployments(&self) -> String {
        let own = (self.mode == Discovery::Single)
            .then(|| Watched::without(Kind::WorkloadDeployment, UPSTREAM_NAMESPACE).selector());
        own.flatten().unwrap_or_default()
    }

    fn single(&self) -> Found {
        Found { name: single::NAME.to_owned(), secret: None, config: self.config.clone(), ready: true }
    }

    /// A Secret that has its plane's name is one read; only for one that an annotation names is the metadata
    /// of all read.
    async fn find_secret(&self, name: &str) -> Read<Found> {
        let secret = |secret: String| async move {
            get(&self.server, Kind::Secret.resource(), &self.namespace, &secret).await
        };
        match secret(name.to_owned()).await {
            Read::Found(secret) if is_of(&secret, name) => {
                return Read::Found(of_secret(&secret));
            }
            Read::Found(_) | Read::Absent => {}
            // A name that no Secret can have is answered so, too.
            Read::Failed(error) if error.failure == Failure::NotServed => {}
            Read::Failed(error) => return Read::Failed(error),
            Read::Skipped => return Read::Skipped,
        }
        match self.annotated(name).await.and_then(Read::from) {
            Read::Found(annotated) => secret(annotated).await.map(|secret| of_secret(&secret)),
            unfound => unfound.and_then(|_| Read::Absent),
        }
    }

    /// The name of the Secret whose annotation names the plane.
    async fn annotated(&self, name: &str) -> Read<Option<String>> {
        let labels = selector();
        let kind = Kind::Secret.resource();
        let query = Query { kind, namespace: &self.namespace, labels: &labels, fields: "" };
        let mut found = None;
        let read = each(&self.server, query, Part::Metadata, |secret| {
            if secret.annotation(PLANE_NAME) != Some(name) {
                return ControlFlow::Continue(());
            }
            found = Some(secret.name().to_owned());
            ControlFlow::Break(())
        });
        read.await.map(|()| found)
    }

    /// A Project by a list of it alone: fedhub's own credentials may list Projects, and get none.
    async fn find_project(&self, name: &str) -> Read<Found> {
        let fields = format!("metadata.name={name}");
        let query = Query { kind: resource(), namespace: "", labels: "", fields: &fields };
        let mut found = None;
        let read = each(&self.server, query, Part::Whole, |project| {
            if project.name() == name {
                found = Some(self.of_project(&project));
            }
            ControlFlow::Continue(())
        });
        read.await.and_then(|()| found.into())
    }

    fn of_project(&self, project: &Object) -> Found {
        let name = project.name().to_owned();
        let config = self.config.clone().and_then(|config| behind(config, &name));
        let config = config.map_err(|why| format!("Project {name}: {why}"));
        let ready = is_true(project.status(), "Ready") && !project.is_terminating();
        Found { name, secret: None, config, ready }
    }
}

/// Whether a Secret stands for the plane of that name.
fn is_of(secret: &Object, name: &str) -> bool {
    secret.label(PLANE_SECRET.0) == Some(PLANE_SECRET.1) && plane_of(secret) == name
}

fn of_secret(secret: &Object) -> Found {
    let name = plane_of(secret).to_owned();
    let config =
        PlaneName::new(&name).map_err(|error| errors::chain(&error)).and_then(|_| config_of_secret(secret));
    let config = config.map_err(|why| format!("Secret {}: {why}", secret.name()));
    Found { name, secret: Some(secret.name().to_owned()), config, ready: true }
}

/// The plane of a Project, at the host of the server with the credentials that it is known by.
fn behind(mut config: Config, project: &str) -> Result<Config, String> {
    let name = PlaneName::new(project).map_err(|error| errors::chain(&error))?;
    let path = path(&name).map_err(|error| errors::chain(&error))?;
    let mut parts = config.cluster_url.into_parts();
    parts.path_and_query = Some(path);
    config.cluster_url = http::Uri::from_parts(parts).map_err(|error| errors::chain(&error))?;
    Ok(config)
}
