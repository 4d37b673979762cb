//! What a change may destroy of an Instance, and who has consented to that (V5). All functions read the spec
//! of a template or of an Instance as JSON.
//!
//! What an Instance has stored on itself is on its disks. A container without one keeps nothing that it was
//! to keep.
//!
//! Decides V5.

use serde_json::Value;

/// The names of the disks that are made for the Instance, in the order of the volumes.
pub fn disks(spec: &Value) -> impl Iterator<Item = &str> {
    let volumes = spec["volumes"].as_array().into_iter().flatten();
    volumes
        .filter(|volume| !volume["disk"].is_null())
        .map(|volume| volume["name"].as_str().unwrap_or_default())
}

/// The name of the disk that a virtual machine boots from: its first volume. `None` for a sandbox.
pub fn boot_disk(spec: &Value) -> Option<&str> {
    spec["runtime"]["virtualMachine"]["volumeAttachments"][0]["name"].as_str()
}

/// Whether an Instance of the spec `stands` may be replaced by one of the spec `wanted`, or rebuilt as such:
/// where `wanted` says so, and, where it says nothing, if no disk is lost. A word that is not known consents
/// to nothing.
pub fn consents(wanted: &Value, stands: &Value) -> bool {
    match &wanted["disruption"] {
        Value::Null => disks(stands).next().is_none(),
        word => word == "Allow",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn v5_disks_are_lost_with_consent_alone() {
        let disk = json!({"volumes": [{"name": "boot", "disk": {"template": {}}}]});
        let data = json!({"volumes": [{"name": "config", "configMap": {"name": "a"}}]});
        for (disruption, stands, expected) in [
            (Value::Null, &disk, false),
            (Value::Null, &data, true),
            (Value::Null, &Value::Null, true),
            (json!("Allow"), &disk, true),
            (json!("Deny"), &disk, false),
            (json!("Deny"), &data, false),
            (json!("allow"), &disk, false),
        ] {
            let wanted = json!({"disruption": disruption});
            assert_eq!(consents(&wanted, stands), expected, "{disruption} {stands}");
        }
    }

    #[test]
    fn v5_a_machine_boots_from_its_first_volume() {
        let attached = json!([{"name": "root"}, {"name": "data"}]);
        let machine = json!({"runtime": {"virtualMachine": {"volumeAttachments": attached}}});
        assert_eq!(boot_disk(&machine), Some("root"));
        assert_eq!(boot_disk(&json!({"runtime": {"sandbox": {"containers": []}}})), None);
    }
}
