//! The conformance script of the in-memory API servers, against a real plane and against one of those: both
//! have to give the same answers.

use fedhub_fake_apiserver::ApiServer;
use fedhub_fake_apiserver::conformance::{self, Outcome};
use kube::Client;

use crate::Error;
use crate::topology::{self, Layout, kubeconfig};

/// How a step went on both servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The name of the step.
    pub name: &'static str,
    /// The fault on the real plane.
    pub real: Option<String>,
    /// The fault on the plane in memory.
    pub fake: Option<String>,
}

impl Step {
    /// Whether both gave the answer that is expected, and so the same.
    pub fn passed(&self) -> bool {
        self.real.is_none() && self.fake.is_none()
    }

    /// Formats the step as one line.
    pub fn line(&self) -> String {
        let fault = |server: &str, fault: &Option<String>| {
            fault.as_ref().map(|fault| format!("; {server}: {fault}")).unwrap_or_default()
        };
        let verdict = if self.passed() { "ok  " } else { "FAIL" };
        format!("{verdict} {}{}{}", self.name, fault("real", &self.real), fault("fake", &self.fake))
    }
}

/// Runs the script against `plane` of an instance that is up, and against a server in memory.
pub async fn run(layout: &Layout, plane: &str) -> Result<Vec<Step>, Error> {
    let real = kubeconfig::client(&topology::kubeconfig_of(layout, plane)?).await?;
    let unready =
        |last| Error::Timeout { what: format!("the script's resource on {plane}"), seconds: 30, last };
    conformance::prepare(&real).await.map_err(unready)?;
    let fake = ApiServer::project_plane("fake");
    fake.register(conformance::widget());
    let name = format!("conformance-{}", std::process::id());
    let real = script(&real, &name).await;
    let fake = script(&fake.client(), &name).await;
    let both = real.into_iter().zip(fake);
    Ok(both.map(|(real, fake)| Step { name: real.step, real: real.fault, fake: fake.fault }).collect())
}

async fn script(client: &Client, name: &str) -> Vec<Outcome> {
    conformance::run(client, name, |_| ()).await
}
