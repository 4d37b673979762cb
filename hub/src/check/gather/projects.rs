//! The project planes, as discovery finds them.

use fedhub_api::conditions::is_true;
use fedhub_core::errors;
use fedhub_core::names::{PLANE_NAME, PLANE_SECRET, PlaneName};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::discovery::milo::{path, resource};
use fedhub_planes::discovery::{Discovery, single};
use kube::Config;

use crate::args::RunArgs;
use crate::operator::connect::Connection;
use crate::operator::planes::config_of_secret;
use crate::operator::read::Read;
use crate::operator::requests::list;

/// The name of a plane, and how to reach it or why not.
type Found = (String, Result<Config, String>);

/// The project planes that a server knows, which is reached by `config`.
pub async fn find(args: &RunArgs, server: &Connection, config: Result<Config, String>) -> Read<Vec<Found>> {
    match args.discovery {
        Discovery::Single if server.found().is_none() => Read::Skipped,
        Discovery::Single => Read::Found(vec![(single::NAME.to_owned(), config)]),
        Discovery::Kubeconfigs => {
            let label = format!("{}={}", PLANE_SECRET.0, PLANE_SECRET.1);
            let secrets = list(server, Kind::Secret.resource(), args.namespace(), &label).await;
            secrets.map(|secrets| secrets.iter().map(of_secret).collect())
        }
        Discovery::Milo => {
            let projects = list(server, resource(), "", "").await;
            let ready = |project: &&Object| is_true(project.status(), "Ready") && !project.is_terminating();
            projects.map(|all| all.iter().filter(ready).map(|project| of_project(project, &config)).collect())
        }
    }
}

fn of_secret(secret: &Object) -> Found {
    let name = secret.annotation(PLANE_NAME).unwrap_or(secret.name()).to_owned();
    let config =
        PlaneName::new(&name).map_err(|error| errors::chain(&error)).and_then(|_| config_of_secret(secret));
    (name, config.map_err(|why| format!("Secret {}: {why}", secret.name())))
}

fn of_project(project: &Object, server: &Result<Config, String>) -> Found {
    let config = server.clone().and_then(|config| behind(config, project.name()));
    (project.name().to_owned(), config)
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
