//! What the Pod Security Standard `restricted` asks of a Pod, whatever its version, and a read-only root file
//! system.

use serde_json::{Value, json};

use super::overlays;

/// Volumes that it allows.
const VOLUMES: [&str; 8] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
];
const SELINUX_TYPES: [&str; 5] =
    ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

fn list(of: &Value) -> impl Iterator<Item = &Value> {
    of.as_array().into_iter().flatten()
}

/// What it refuses of a Pod's spec.
fn violations(pod: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut refuse = |is: bool, what: &str| {
        if is {
            found.push(what.to_owned());
        }
    };
    for field in ["hostNetwork", "hostPID", "hostIPC"] {
        refuse(!pod[field].is_null() && pod[field] != false, field);
    }
    let of_pod = &pod["securityContext"];
    refuse(list(&of_pod["sysctls"]).next().is_some(), "sysctls");
    for volume in list(&pod["volumes"]) {
        let types = volume.as_object().unwrap().keys().filter(|key| *key != "name");
        refuse(types.into_iter().any(|of| !VOLUMES.contains(&of.as_str())), "a volume");
    }
    let all = ["containers", "initContainers", "ephemeralContainers"];
    for container in all.into_iter().flat_map(|of| list(&pod[of])) {
        let own = &container["securityContext"];
        let either = |field: &str| if own[field].is_null() { &of_pod[field] } else { &own[field] };
        refuse(either("runAsNonRoot") != true, "runAsNonRoot");
        refuse(either("runAsUser") == 0, "runAsUser");
        let seccomp = &either("seccompProfile")["type"];
        refuse(seccomp != "RuntimeDefault" && seccomp != "Localhost", "seccompProfile");
        refuse(own["allowPrivilegeEscalation"] != false, "allowPrivilegeEscalation");
        refuse(own["privileged"] == true, "privileged");
        refuse(own["readOnlyRootFilesystem"] != true, "readOnlyRootFilesystem");
        refuse(!own["procMount"].is_null() && own["procMount"] != "Default", "procMount");
        let capabilities = &own["capabilities"];
        refuse(!list(&capabilities["drop"]).any(|one| one == "ALL"), "capabilities that are not dropped");
        refuse(
            list(&capabilities["add"]).any(|one| one != "NET_BIND_SERVICE"),
            "capabilities that are added",
        );
        refuse(list(&container["ports"]).any(|port| !port["hostPort"].is_null()), "hostPort");
        refuse(either("windowsOptions")["hostProcess"] == true, "hostProcess");
        refuse(either("appArmorProfile")["type"] == "Unconfined", "appArmorProfile");
        let selinux = either("seLinuxOptions");
        let of_type = selinux["type"].as_str().unwrap_or_default();
        let named = ["user", "role"].into_iter().any(|field| !selinux[field].is_null());
        refuse(named || !SELINUX_TYPES.contains(&of_type), "seLinuxOptions");
    }
    found
}

#[test]
fn every_pod_of_every_overlay_is_restricted() {
    let mut pods = 0;
    for overlay in overlays() {
        for object in overlay.objects() {
            let pod = &object["spec"]["template"]["spec"];
            if !pod.is_null() {
                assert_eq!(violations(pod), Vec::<String>::new(), "{overlay:?}");
                pods += 1;
            }
        }
    }
    assert!(pods >= overlays().len());
}

/// Every one of them is noticed.
#[test]
fn what_is_not_restricted_is_refused() {
    let objects = overlays()[0].objects();
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    let container = "/containers/0/securityContext";
    for (at, value, expected) in [
        ("/hostNetwork", json!(true), "hostNetwork"),
        ("/hostPID", json!(true), "hostPID"),
        ("/securityContext/sysctls", json!([{"name": "a", "value": "b"}]), "sysctls"),
        ("/volumes/0/hostPath", json!({"path": "/"}), "a volume"),
        ("/securityContext/runAsNonRoot", json!(false), "runAsNonRoot"),
        ("/securityContext/runAsUser", json!(0), "runAsUser"),
        ("/securityContext/seccompProfile", json!(null), "seccompProfile"),
        ("/containers/0/ports/0/hostPort", json!(1), "hostPort"),
        ("/securityContext/seLinuxOptions", json!({"user": "a"}), "seLinuxOptions"),
        ("/securityContext/appArmorProfile", json!({"type": "Unconfined"}), "appArmorProfile"),
        ("allowPrivilegeEscalation", json!(true), "allowPrivilegeEscalation"),
        ("privileged", json!(true), "privileged"),
        ("readOnlyRootFilesystem", json!(false), "readOnlyRootFilesystem"),
        ("procMount", json!("Unmasked"), "procMount"),
        ("windowsOptions", json!({"hostProcess": true}), "hostProcess"),
        ("capabilities", json!({}), "capabilities that are not dropped"),
        ("capabilities", json!({"drop": ["ALL"], "add": ["CHOWN"]}), "capabilities that are added"),
    ] {
        let at = if at.starts_with('/') { at.to_owned() } else { format!("{container}/{at}") };
        let mut broken = pod.clone();
        let (parent, field) = at.rsplit_once('/').unwrap();
        broken.pointer_mut(parent).unwrap()[field] = value;
        assert_eq!(violations(&broken), [expected], "{at}");
    }
}
