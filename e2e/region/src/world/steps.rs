//! What becomes of servers in time.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::World;
use super::model::{Server, Step};
use crate::journal::Event;

impl World {
    /// Does all that was due until now, in order, each at its own time.
    pub fn advance(&mut self, now: Instant) {
        while let Some(entry) = self.agenda.first_entry() {
            let due = entry.key().0;
            if due > now {
                return;
            }
            let (id, step) = entry.remove();
            self.apply(&id, step, due);
        }
    }

    /// Makes a step due after some milliseconds.
    pub(super) fn due(&mut self, now: Instant, millis: u64, id: &str, step: Step) {
        self.given += 1;
        let at = now + Duration::from_millis(millis);
        self.agenda.insert((at, self.given), (id.to_owned(), step));
    }

    /// Takes a step, unless it is void.
    pub(super) fn apply(&mut self, id: &str, step: Step, at: Instant) {
        self.given += 1;
        let given = self.given;
        let Some(server) = self.servers.get_mut(id) else { return };
        if step == Step::Gone {
            if server.deleting.is_some() && !server.stuck {
                self.changed_to(id, "gone", at, None);
            }
            return;
        }
        if server.deleting.is_some() {
            return;
        }
        let what = match step {
            Step::Accepted(turn) if turn == server.turn => {
                "provisioning".clone_into(&mut server.provisioning_status);
                server.power_state = Some("Pending".to_owned());
                "accepted"
            }
            Step::Built(turn) if turn == server.turn => {
                "provisioned".clone_into(&mut server.provisioning_status);
                server.power_state = Some("Building".to_owned());
                network(server, given);
                "built"
            }
            Step::Runs(turn) if turn == server.turn => {
                "provisioned".clone_into(&mut server.provisioning_status);
                "healthy".clone_into(&mut server.health_status);
                server.power_state = Some("Running".to_owned());
                server.mac_address.get_or_insert_with(|| {
                    let [.., a, b, c] = given.to_be_bytes();
                    format!("fa:16:3e:{a:02x}:{b:02x}:{c:02x}")
                });
                "running"
            }
            Step::Stopped(turn) if turn == server.turn => {
                server.power_state = Some("Stopped".to_owned());
                "stopped"
            }
            Step::Rebuilds(turn) if turn == server.turn => {
                "provisioned".clone_into(&mut server.provisioning_status);
                server.power_state = Some("Rebuilding".to_owned());
                server.root_disks += 1;
                "rebuilding"
            }
            Step::Fails(turn) if turn == server.turn => {
                "error".clone_into(&mut server.provisioning_status);
                "error".clone_into(&mut server.health_status);
                server.power_state = Some("Error".to_owned());
                server.message = Some("no host has room for it".to_owned());
                "failed"
            }
            Step::Networked => {
                network(server, given);
                "networked"
            }
            _ => return,
        };
        self.changed(id, what, at);
    }

    /// From now on a server is shown as it is, and the record says what happened.
    pub(super) fn changed(&mut self, id: &str, what: &'static str, at: Instant) {
        let server = self.servers.remove(id);
        self.changed_to(id, what, at, server);
    }

    fn changed_to(&mut self, id: &str, what: &'static str, at: Instant, server: Option<Server>) {
        let before = self.servers.remove(id);
        let instance = server.as_ref().or(before.as_ref()).and_then(|server| server.instance.clone());
        self.write(at, Event::Change { id: id.to_owned(), instance, what });
        self.shown.entry(id.to_owned()).or_default().turn(at, server.clone());
        if let Some(server) = server {
            self.servers.insert(id.to_owned(), server);
        }
    }
}

/// Gives a server the addresses that it asks for, and takes away what it does not.
fn network(server: &mut Server, given: u64) {
    let [.., a, b, c] = given.to_be_bytes();
    server.private_ip.get_or_insert_with(|| Ipv4Addr::new(10, a, b, c).to_string());
    if server.networking.get("publicIP").and_then(Value::as_bool) == Some(true) {
        server.public_ip.get_or_insert_with(|| Ipv4Addr::new(203, a, b, c).to_string());
    } else {
        server.public_ip = None;
    }
}
