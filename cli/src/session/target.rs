//! The server that a command is sent to: a pure decision by flags and variables.

use std::path::PathBuf;

use fedhub_core::names::{DNS_LABEL_RULE, is_dns_label};

use crate::args::Global;
use crate::host::environment::Environment;
use crate::host::program::Program;
use crate::problem::Problem;

/// The server to connect to, and the credentials for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The platform that datumctl is logged in to.
    Platform {
        /// Its host, without a scheme.
        host: String,
        /// The project.
        project: String,
        /// Path of the program that gives tokens.
        helper: String,
        /// The login to use.
        session: Option<String>,
    },
    /// A kubeconfig's target.
    Kubeconfig {
        /// The file, in place of `KUBECONFIG` and `~/.kube/config`.
        file: Option<PathBuf>,
        /// The context, in place of the current one.
        context: Option<String>,
        /// The project, where it is named.
        project: Option<String>,
    },
}

/// Decides where to connect to. A kubeconfig that is named wins over what datumctl passes on, and kubectl
/// passes on nothing. Started by datumctl, the program never goes where the current context of a kubeconfig
/// happens to lead: a command that was meant for one project would be carried out in another.
pub fn target(program: Program, global: &Global, environment: &Environment) -> Result<Target, Problem> {
    if let Some(project) = &global.project {
        check_project(project)?;
    }
    let named = global.kubeconfig.is_some() || global.context.is_some();
    if named || program.is_kubectl() || !environment.is_hosted() {
        return Ok(Target::Kubeconfig {
            file: global.kubeconfig.clone(),
            context: global.context.clone(),
            project: global.project.clone(),
        });
    }
    let Some(host) = &environment.api_host else {
        return Err(Problem::usage(
            "datumctl has no login, or cannot read it: it names no platform to connect to.",
        )
        .remedy("Log in with `datumctl login`, or name a kubeconfig with --kubeconfig or --context."));
    };
    let Some(project) = global.project.as_ref().or(environment.project.as_ref()) else {
        return Err(Problem::usage("No project is chosen.")
            .remedy("Name one with --project, or choose one with `datumctl ctx use`."));
    };
    check_project(project)?;
    let Some(helper) = environment.credentials_helper.clone() else {
        return Err(Problem::usage("There is no login to use: DATUM_CREDENTIALS_HELPER is not set.")
            .remedy("Run this as `datumctl compute`, or name a kubeconfig with --kubeconfig."));
    };
    let host = host_of(host)?;
    let project = project.clone();
    Ok(Target::Platform { host, project, helper, session: environment.session.clone() })
}

/// The host alone: tokens go over TLS and nowhere else.
fn host_of(value: &str) -> Result<String, Problem> {
    let host = value.strip_prefix("https://").unwrap_or(value).trim_end_matches('/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    if host.is_empty() || !host.chars().all(is_plain) || host.contains("//") {
        return Err(Problem::usage(format!("DATUM_API_HOST is {value:?}, which is not the name of a host.")));
    }
    Ok(host.to_owned())
}

/// A namespace becomes a part of paths, whatever names it.
pub fn check_namespace(name: &str) -> Result<(), Problem> {
    if is_dns_label(name) {
        return Ok(());
    }
    Err(Problem::usage(format!("{name:?} is not the name of a namespace: {DNS_LABEL_RULE}."))
        .remedy("Name one with --namespace, or in the context of the kubeconfig."))
}

/// A project's name becomes a part of a path.
fn check_project(name: &str) -> Result<(), Problem> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.is_empty() && name.len() <= 63 && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(Problem::usage(format!("{name:?} is not the name of a project.")).remedy(
        "Names of projects have lower-case letters, digits and hyphens; `datumctl get projects` lists yours.",
    ))
}
