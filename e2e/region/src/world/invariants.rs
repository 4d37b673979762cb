//! What a provider must never do, noticed at the moment at which it does it (V1, V2, V4).

use tokio::time::Instant;

use super::World;
use super::model::{Allocation, Server};
use crate::journal::Event;

impl World {
    /// What providers did that they must never do.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// V1: an Instance has at most one server, at every moment.
    pub(super) fn will_create(&mut self, new: &Server, now: Instant) {
        let Some(instance) = &new.instance else { return };
        let twin = self.servers.values().find(|other| other.instance.as_ref() == Some(instance));
        if let Some(twin) = twin {
            let what = format!("Instance {instance} has server {}, and gets {} (V1)", twin.id, new.id);
            self.violate(what, now);
        }
    }

    /// V2: a server that is not ours is not touched.
    pub(super) fn will_order(&mut self, id: &str, what: &str, now: Instant) {
        if self.servers.get(id).is_some_and(|server| server.foreign) {
            self.violate(format!("server {id} is not ours, and is {what} (V2)"), now);
        }
    }

    /// V4: quota is taken once for an Instance.
    pub(super) fn will_reserve(&mut self, new: &Allocation, now: Instant) {
        let instance = new.instance();
        let twin = self.allocations.values().find(|other| other.instance() == instance);
        if let Some(twin) = twin {
            let what = format!("Instance {instance} has allocation {}, and takes {} (V4)", twin.id, new.id);
            self.violate(what, now);
        }
    }

    /// V4: quota is not given back while its server stands.
    pub(super) fn will_release(&mut self, allocation: &Allocation, now: Instant) {
        let instance = allocation.instance();
        let server = self.servers.values().find(|server| server.instance.as_deref() == Some(instance));
        if let Some(server) = server {
            let what = format!(
                "allocation {} of Instance {instance} is released while server {} stands (V4)",
                allocation.id, server.id
            );
            self.violate(what, now);
        }
    }

    fn violate(&mut self, what: String, now: Instant) {
        self.write(now, Event::Violation { what: what.clone() });
        self.violations.push(what);
    }
}
