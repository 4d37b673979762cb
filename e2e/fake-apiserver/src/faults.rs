//! Faults that a test switches on.

use std::time::Duration;

/// A fault of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Requests are never answered and change nothing; watches that are open fall silent, and go on when it
    /// is lifted.
    Hang,
    /// Requests are carried out and answered after this delay; watches that are open are left alone.
    Slow(Duration),
    /// Requests are refused with this code, and a `Status` object that fits it. 401 is what an expired token
    /// meets.
    Status(u16),
    /// Requests are refused with 429 and a `Retry-After` of this many seconds.
    Throttle(u32),
    /// Requests are answered 200 with something that is not JSON, though the headers say it is. Nothing is
    /// changed.
    Garbage,
    /// Requests are answered 200 with a page of HTML, as a proxy or a captive portal does. Nothing is
    /// changed.
    Html,
    /// The connection breaks before the request arrives; watches that are open break off in an error.
    Disconnect,
    /// The request is carried out, and the connection breaks before the answer.
    LostAnswer,
    /// The request is carried out, and the connection breaks in the middle of the answer; watches break off
    /// at once.
    CutShort,
    /// The request is carried out, and its answer stops in the middle without an end; watches that are open
    /// stop in the middle of their next line, and say no more.
    Stall,
    /// Lists come back empty, with a current resourceVersion. Other verbs work.
    EmptyList,
}

impl Fault {
    /// This fault for one verb (`get`, `list`, `watch`, `create`, `update`, `patch`, `delete`,
    /// `deletecollection`) and one resource (`instances`, or `instances/status`, which is another one, as for
    /// RBAC). `*` stands for every.
    pub fn on(self, verb: &str, resource: &str) -> FaultRule {
        FaultRule { fault: self, verb: verb.to_owned(), resource: resource.to_owned(), left: None }
    }

    /// This fault for the next `count` requests of any kind.
    pub fn times(self, count: u32) -> FaultRule {
        self.on("*", "*").times(count)
    }
}

/// A fault, and when it strikes. Of several that match, the one switched on last does.
#[derive(Clone, Debug)]
pub struct FaultRule {
    fault: Fault,
    verb: String,
    resource: String,
    left: Option<u32>,
}

impl FaultRule {
    /// Only the next `count` matching requests. Watches that are already open are then left alone.
    #[must_use]
    pub fn times(mut self, count: u32) -> Self {
        self.left = Some(count);
        self
    }

    fn matches(&self, verb: &str, resource: &str) -> bool {
        let fits = |pattern: &str, value: &str| pattern == "*" || pattern == value;
        let listed = self.fault != Fault::EmptyList || verb == "list";
        listed && fits(&self.verb, verb) && fits(&self.resource, resource)
    }
}

impl From<Fault> for FaultRule {
    fn from(fault: Fault) -> Self {
        fault.on("*", "*")
    }
}

/// Names a fault that is on, for switching it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultId(u64);

/// The faults that are on.
#[derive(Default)]
pub(crate) struct Faults {
    rules: Vec<(FaultId, FaultRule)>,
    version: u64,
}

impl Faults {
    pub(crate) fn add(&mut self, rule: FaultRule) -> FaultId {
        self.version += 1;
        let id = FaultId(self.version);
        self.rules.push((id, rule));
        id
    }

    pub(crate) fn remove(&mut self, id: FaultId) {
        self.version += 1;
        self.rules.retain(|(other, _)| *other != id);
    }

    pub(crate) fn clear(&mut self) {
        self.version += 1;
        self.rules.clear();
    }

    /// Changes whenever a fault is switched on or off.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The fault that strikes this request, if any: the one switched on last goes first.
    pub(crate) fn strike(&mut self, verb: &str, resource: &str) -> Option<Fault> {
        let (_, rule) = self
            .rules
            .iter_mut()
            .rev()
            .find(|(_, rule)| rule.left != Some(0) && rule.matches(verb, resource))?;
        if let Some(left) = &mut rule.left {
            *left -= 1;
        }
        Some(rule.fault)
    }

    /// Returns the fault of an open watch: only lasting faults of the connection affect it.
    pub(crate) fn on_open_watch(&self, resource: &str) -> Option<Fault> {
        let lasting = self.rules.iter().rev().filter(|(_, rule)| rule.left.is_none());
        let mut faults =
            lasting.filter(|(_, rule)| rule.matches("watch", resource)).map(|(_, rule)| rule.fault);
        faults.find(|fault| matches!(fault, Fault::Hang | Fault::Disconnect | Fault::CutShort | Fault::Stall))
    }
}
