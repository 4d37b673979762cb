//! The addresses of an Instance's interfaces, as its server has them.

use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use crate::contract::Address;

/// Puts the addresses that are known into the interfaces of the status, by the names that the specification
/// gives them. What is not known yet stays as it was.
pub(super) fn put(instance: &Object, addresses: &[Address], status: &mut Value) {
    let names = instance.spec()["networkInterfaces"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (index, address) in addresses.iter().enumerate() {
        if *address == Address::default() {
            continue;
        }
        let name = match names.get(index).and_then(|interface| interface["name"].as_str()) {
            Some(name) => name.to_owned(),
            None => format!("eth{index}"),
        };
        if !status["networkInterfaces"].is_array() {
            status["networkInterfaces"] = json!([]);
        }
        let Some(interfaces) = status["networkInterfaces"].as_array_mut() else { return };
        let at = interfaces.iter().position(|known| known["name"] == *name).unwrap_or_else(|| {
            interfaces.push(json!({"name": name}));
            interfaces.len() - 1
        });
        let interface = &mut interfaces[at];
        if let Some(ip) = &address.network_ip {
            interface["assignments"] = json!({"networkIP": ip});
        }
        if let Some(ip) = &address.external_ip {
            interface["assignments"]["externalIP"] = json!(ip);
        }
        if let Some(mac) = &address.mac {
            interface["macAddress"] = json!(mac);
        }
    }
}
