//! How API servers admit: those of planes that ask fedhub show its webhooks a client certificate that names
//! their plane, as docs/admission.md says, and the hub limits Events.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::layout::Layout;
use super::pki::Pki;
use super::planes::{Kind, Plane};
use crate::Error;

/// The admission plugin that limits Events. No API server has it by default.
const EVENT_RATE_LIMIT: &str = "EventRateLimit";

/// The flags of a plane's API server that say how it admits.
pub fn flags(layout: &Layout, plane: &Plane) -> Vec<String> {
    let mut flags: Vec<_> = configuration(layout, plane)
        .map(|file| format!("--admission-control-config-file={}", file.display()))
        .into_iter()
        .collect();
    if plane.kind == Kind::Hub {
        flags.push(format!("--enable-admission-plugins={EVENT_RATE_LIMIT}"));
    }
    flags
}

/// The file that a plane's API server has its plugins' configuration from. A cell's has none: it never asks
/// fedhub.
fn configuration(layout: &Layout, plane: &Plane) -> Option<PathBuf> {
    let is_cell = matches!(plane.kind, Kind::Cell { .. });
    (!is_cell).then(|| layout.pki().join(format!("admission-{}.json", plane.name)))
}

/// Writes what the API servers of these planes read.
pub fn write<'a>(
    layout: &Layout,
    pki: &Pki,
    planes: impl IntoIterator<Item = &'a Plane>,
) -> Result<(), Error> {
    for plane in planes {
        let Some(configuration) = configuration(layout, plane) else { continue };
        if plane.kind == Kind::Hub {
            let limits = plugins([event_rate_limit()]).to_string();
            fs::write(&configuration, limits).map_err(Error::file("write", configuration))?;
            continue;
        }
        let shown = pki.plane(plane.name)?;
        let file = |extension: &str| layout.pki().join(format!("webhooks-{}.{extension}", plane.name));
        let certificate = file("crt");
        let key = file("key");
        let kubeconfig = file("json");
        let written = [
            (&certificate, shown.certificate),
            (&key, shown.key),
            (&kubeconfig, users(&certificate, &key).to_string()),
            (&configuration, plugins(webhooks(&kubeconfig)).to_string()),
        ];
        for (path, content) in written {
            fs::write(path, content).map_err(Error::file("write", path))?;
        }
    }
    Ok(())
}

/// A kubeconfig that has every webhook shown the certificate: their ports are not known yet.
fn users(certificate: &Path, key: &Path) -> Value {
    let user = json!({ "client-certificate": certificate, "client-key": key });
    json!({ "apiVersion": "v1", "kind": "Config", "users": [{ "name": "*", "user": user }] })
}

fn webhooks(kubeconfig: &Path) -> [Value; 2] {
    ["ValidatingAdmissionWebhook", "MutatingAdmissionWebhook"].map(|name| {
        json!({ "name": name, "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": kubeconfig,
        }})
    })
}

/// Karmada tells each step of each object in Events: without a limit they are a third of the hub's requests
/// and almost half of its writes, and nothing reads them.
fn event_rate_limit() -> Value {
    json!({ "name": EVENT_RATE_LIMIT, "configuration": {
        "apiVersion": "eventratelimit.admission.k8s.io/v1alpha1", "kind": "Configuration",
        "limits": [{ "type": "User", "qps": 1, "burst": 20, "cacheSize": 100 }],
    }})
}

fn plugins(plugins: impl Into<Vec<Value>>) -> Value {
    json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::planes::PLANES;

    #[test]
    fn each_plane_that_asks_has_a_certificate_of_its_own() {
        let scratch = tempfile::tempdir().unwrap();
        let layout = Layout::below(scratch.path(), "one").unwrap();
        fs::create_dir_all(layout.pki()).unwrap();
        let pki = Pki::create(&layout.pki()).unwrap();
        write(&layout, &pki, &PLANES).unwrap();
        let read =
            |path: &str| -> Value { serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() };
        let mut shown = Vec::new();
        for plane in &PLANES {
            let Some(file) = configuration(&layout, plane) else {
                assert!(matches!(plane.kind, Kind::Cell { .. }));
                continue;
            };
            let configuration = read(file.to_str().unwrap());
            if plane.kind == Kind::Hub {
                assert_eq!(configuration["plugins"][0]["name"], EVENT_RATE_LIMIT);
                continue;
            }
            for plugin in configuration["plugins"].as_array().unwrap() {
                let users = read(plugin["configuration"]["kubeConfigFile"].as_str().unwrap());
                let user = &users["users"][0];
                assert_eq!(user["name"], "*");
                let certificate = user["user"]["client-certificate"].as_str().unwrap();
                assert!(
                    fs::read_to_string(user["user"]["client-key"].as_str().unwrap()).unwrap().contains("KEY")
                );
                shown.push(fs::read_to_string(certificate).unwrap());
            }
        }
        shown.sort();
        shown.dedup();
        assert!(shown.len() > 2, "the management plane and the projects have one each");
    }
}
