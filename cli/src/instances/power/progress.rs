//! How far an instance has followed an order about its power. Pure.

use std::collections::BTreeMap;

use fedhub_api::instance_power::{PowerAsked, PowerOrder};
use fedhub_api::reason::Reason;
use fedhub_core::object::{Object, ObjectView};

use crate::view::condition::{Finding, Standing, of_instance};

/// What was asked, by the names of the instances.
pub type Asked = BTreeMap<String, PowerAsked>;

/// How far an instance has followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has followed the order.
    Done,
    /// It has not followed yet, for this reason.
    Waits(String),
    /// It is blocked until the user or the operator acts.
    Blocked(Finding),
    /// It is gone.
    Gone,
}

/// How far an instance, or what has its name, has followed what was `asked` of it by `order`.
pub fn progress(instance: Option<&Object>, order: PowerOrder, asked: &PowerAsked) -> Progress {
    let Some(instance) = instance else { return Progress::Gone };
    let Some(finding) = of_instance(instance.status()) else {
        return match order {
            PowerOrder::Stop => Progress::Waits("it still runs".to_owned()),
            PowerOrder::Restart if asked.restart_due(instance).is_some() => {
                Progress::Waits("it has not restarted yet".to_owned())
            }
            PowerOrder::Start | PowerOrder::Restart => Progress::Done,
        };
    };
    let reason = Reason::parse(&finding.reason);
    match (order, reason) {
        (PowerOrder::Stop, Some(Reason::Stopped | Reason::Suspended)) => Progress::Done,
        (PowerOrder::Start | PowerOrder::Restart, Some(Reason::Suspended)) => Progress::Blocked(finding),
        // As it was before the order; what else needs an action does so after it as well.
        (PowerOrder::Start | PowerOrder::Restart, Some(Reason::Stopped)) => {
            Progress::Waits("it is stopped".to_owned())
        }
        (PowerOrder::Stop, _) => Progress::Waits(finding.what),
        _ if finding.standing() == Standing::Blocked => Progress::Blocked(finding),
        _ => Progress::Waits(finding.what),
    }
}
