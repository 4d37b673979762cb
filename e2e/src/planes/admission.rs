//! What API servers show to the webhooks that they ask: a client certificate that names their plane, as
//! docs/admission.md says.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::layout::Layout;
use super::pki::Pki;
use super::topology::{Kind, Plane};
use crate::Error;

/// The file of a plane's API server for `--admission-control-config-file`; `None` for one that never asks
/// fedhub.
pub fn configuration(layout: &Layout, plane: &Plane) -> Option<PathBuf> {
    let asks = matches!(plane.kind, Kind::Management | Kind::Project);
    asks.then(|| layout.pki().join(format!("admission-{}.json", plane.name)))
}

/// Writes what the API servers of these planes read.
pub fn write(layout: &Layout, pki: &Pki, planes: &[Plane]) -> Result<(), Error> {
    for plane in planes {
        let Some(configuration) = configuration(layout, plane) else { continue };
        let shown = pki.plane(plane.name)?;
        let file = |extension: &str| layout.pki().join(format!("webhooks-{}.{extension}", plane.name));
        let (certificate, key, kubeconfig) = (file("crt"), file("key"), file("json"));
        let written = [
            (&certificate, shown.certificate),
            (&key, shown.key),
            (&kubeconfig, users(&certificate, &key).to_string()),
            (&configuration, plugins(&kubeconfig).to_string()),
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

fn plugins(kubeconfig: &Path) -> Value {
    let plugins = ["ValidatingAdmissionWebhook", "MutatingAdmissionWebhook"].map(|name| {
        json!({ "name": name, "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration",
            "kubeConfigFile": kubeconfig,
        }})
    });
    json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planes::topology::PLANES;

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
                assert!(matches!(plane.kind, Kind::Hub | Kind::Cell { .. }));
                continue;
            };
            let configuration = read(file.to_str().unwrap());
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
