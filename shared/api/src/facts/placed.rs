//! What is kept of a project's `WorkloadDeployment` for the Workload that it is a placement of: whether it is
//! what the Workload asks for (W1), and what it contributes to the Workload's status (W3).

use fedhub_core::hash::{self, KeyedHasher};
use fedhub_core::message::bounded;
use fedhub_core::names::{
    ASSIGNED_REVISION, INSTANCE_CITY, PLACEMENT_NAME, SERVICE_NAME, SUSPENDED, WORKLOAD_NAME,
    WORKLOAD_RESTARTED_AT, WORKLOAD_SUSPENDED, WORKLOAD_UID, is_label_value,
};
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::carried::{Carried, WantedTemplate};
use super::mark::mark_hash;
use super::restarts::template_identity;
use crate::conditions::{FEDERATED, find, said};
use crate::reason::{Reason, Responsible};

/// Counters that the schema requires, zeros too (F8).
pub const COUNTERS: [&str; 5] =
    ["replicas", "currentReplicas", "updatedReplicas", "desiredReplicas", "readyReplicas"];

/// Writes all counters, zero where none was reported: the schema requires them.
pub fn put_counters(status: &mut Value) {
    for counter in COUNTERS {
        if status.get(counter).is_none() {
            status[counter] = json!(0);
        }
    }
}
/// The fields of a WD's spec that the Workload controller writes.
pub const WRITTEN_FIELDS: [&str; 5] =
    ["cityCode", "placementName", "scaleSettings", "template", "workloadRef"];
/// The fields of a WD's spec that others write: the scale subresource, and whoever chose a runtime class.
pub const KEPT_FIELDS: [&str; 2] = ["replicas", "networkAttachment"];

/// The facts of a WD that names a Workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The name of its Workload.
    pub workload: Box<str>,
    /// The UID of its Workload, by [`mark_hash`].
    pub uid: u64,
    /// What the Workload controller writes of it, as [`WantedDeployment::identity`].
    pub identity: u64,
    /// Hash of its template, by [`template_identity`].
    pub template: u64,
    /// The restart of its Workload that it was given last, by [`mark_hash`].
    pub restart: u64,
    /// The revision that it carries, by its mark (R2).
    pub carried: Carried,
    /// The revision that another controller assigned to it (R9).
    pub assigned: Option<u64>,
    /// Its counters, in the order of [`COUNTERS`].
    pub counters: [i32; 5],
    /// How many of its Instances their users stopped: nothing waits for those (V9).
    pub stopped: i32,
    /// Whether its status is about its newest generation.
    pub observed: bool,
    /// Whether it is available.
    pub available: bool,
    /// Whether its own annotation says that it is suspended.
    pub suspended: bool,
    /// Whether that is because its Workload is.
    pub workload_suspended: bool,
    /// The weight of what keeps it from that, as [`Reason::weight_in_workload`].
    pub priority: u8,
    /// The reason and message of its condition `Available`, as [`says`]; zero where it has none.
    pub says: u64,
    /// The reason why it makes no progress until its user acts (R4).
    pub stuck: Option<Reason>,
    /// Whether its cell cannot be reached, so that what it reports is old (R5).
    pub unreachable: bool,
}

/// A WD as a Workload asks for it.
#[derive(Clone, Copy, Debug)]
pub struct WantedDeployment<'a> {
    /// Hash of the template, by [`template_identity`].
    pub template: u64,
    /// The restart that the template asks for, by [`mark_hash`].
    pub restart: u64,
    /// Hash of the scale settings.
    pub scale: u64,
    /// The name of the placement.
    pub placement: &'a str,
    /// The city code as written.
    pub city: &'a str,
    /// The name of the Workload.
    pub workload: &'a str,
    /// The UID of the Workload.
    pub uid: &'a str,
    /// Which template it is to have: its turn may not have come (R1).
    pub which: WantedTemplate,
    /// Whether the Workload is suspended.
    pub suspend: bool,
}

impl<'a> WantedDeployment<'a> {
    /// The labels of the wire contract. What is no valid label value is left out.
    pub fn labels(&self) -> [(&'static str, Option<&'a str>); 5] {
        let value = |text: &'a str| Some(text).filter(|text| is_label_value(text));
        [
            (WORKLOAD_UID, value(self.uid)),
            (WORKLOAD_NAME, value(self.workload)),
            (PLACEMENT_NAME, value(self.placement)),
            (INSTANCE_CITY, value(self.city)),
            (SERVICE_NAME.0, Some(SERVICE_NAME.1)),
        ]
    }

    /// Hash of all that the Workload controller writes of a WD, its template aside.
    pub fn identity(&self) -> u64 {
        let labels = self.labels().map(|(_, value)| value);
        self.sum(labels, true, 0)
    }

    /// The revision whose template it is to be written with, where that is known.
    pub fn revision(&self) -> Option<u64> {
        match self.which {
            WantedTemplate::Newest(revision) => revision,
            WantedTemplate::Earlier(revision) => Some(revision),
            WantedTemplate::Kept => None,
        }
    }

    /// Hash of all that it asks for.
    pub fn content(&self) -> u64 {
        KeyedHasher::default()
            .number(self.identity())
            .number(self.template)
            .number(self.restart)
            .number(u64::from(self.suspend))
            .number(match self.which {
                WantedTemplate::Newest(_) => 0,
                WantedTemplate::Kept => 1,
                WantedTemplate::Earlier(revision) => revision.saturating_add(2),
            })
            .end()
    }

    fn sum(&self, labels: [Option<&str>; 5], owned: bool, unknown_fields: u64) -> u64 {
        let sum = KeyedHasher::default()
            .number(self.scale)
            .text(self.placement)
            .text(self.city)
            .text(self.workload)
            .text(self.uid);
        let sum = labels.into_iter().fold(sum, KeyedHasher::maybe);
        sum.number(u64::from(owned)).number(unknown_fields).end()
    }
}

/// A number of Instances, as a status says it.
fn number(status: &Value, field: &str) -> i32 {
    i32::try_from(status[field].as_i64().unwrap_or_default()).unwrap_or(i32::MAX)
}

impl Placed {
    /// Reads the facts of a project's WD; `None` if it names no Workload.
    pub(super) fn from_object(object: &Object) -> Option<Self> {
        let spec = object.spec();
        let status = object.status();
        let text = |value: &'_ Value| value.as_str().unwrap_or_default().to_owned();
        let workload = text(&spec["workloadRef"]["name"]);
        let uid = text(&spec["workloadRef"]["uid"]);
        if uid.is_empty() {
            return None;
        }
        let available = find(status, "Available");
        let (stands, reason, message) = available.map_or(("", "", ""), said);
        Some(Self {
            uid: mark_hash(Some(&uid)),
            identity: identity(object, &workload, &uid),
            template: template_identity(&spec["template"]),
            restart: mark_hash(object.annotation(WORKLOAD_RESTARTED_AT)),
            workload: workload.into(),
            counters: COUNTERS.map(|counter| number(status, counter)),
            stopped: number(status, "stoppedReplicas"),
            observed: is_observed(object),
            available: stands == "True",
            suspended: object.annotation(SUSPENDED) == Some("true"),
            workload_suspended: object.annotation(WORKLOAD_SUSPENDED).is_some(),
            priority: Reason::parse(reason).map_or(0, Reason::weight_in_workload),
            says: available.map_or(0, |_| says(reason, message)),
            carried: Carried::from_object(object),
            assigned: object.annotation(ASSIGNED_REVISION).and_then(|revision| revision.parse().ok()),
            stuck: stuck(object),
            unreachable: find(status, FEDERATED).map(said).is_some_and(|(stands, reason, _)| {
                stands == "False" && reason == Reason::CellUnreachable.as_str()
            }),
        })
    }

    /// Whether it is what the Workload asks for, as far as that is passed on.
    pub fn is(&self, wanted: &WantedDeployment<'_>) -> bool {
        self.identity == wanted.identity()
            && self.workload_suspended == wanted.suspend
            && (self.suspended || !wanted.suspend)
            && match wanted.which {
                // Whoever assigns revisions reads from the mark that it was carried out.
                WantedTemplate::Newest(Some(revision)) if self.assigned == Some(revision) => {
                    self.has_template_of(wanted) && self.carried == Carried::Intact(revision)
                }
                WantedTemplate::Newest(_) => self.has_template_of(wanted),
                WantedTemplate::Earlier(revision) => self.carried == Carried::Intact(revision),
                WantedTemplate::Kept => true,
            }
    }

    /// Whether its template is the Workload's. A restart of its own stands until the Workload asks for
    /// another one: one city can be restarted alone.
    pub fn has_template_of(&self, wanted: &WantedDeployment<'_>) -> bool {
        self.template == wanted.template && self.restart == wanted.restart
    }

    pub(super) fn heap(&self) -> usize {
        self.workload.len()
    }
}

/// Whether the status of a WD is about its newest generation.
fn is_observed(object: &Object) -> bool {
    object.metadata.generation.is_some()
        && object.status()["observedGeneration"].as_i64() == object.metadata.generation
}

/// The reason why a WD makes no progress until its user acts. What an operator has to act on may pass while
/// nobody touches the template, so that it is no failure of that; neither is what a user asked for, such as
/// an Instance that is stopped. Until its cell has observed the newest generation, only the way there can
/// tell.
fn stuck(object: &Object) -> Option<Reason> {
    let kinds: &[&str] = if is_observed(object) { &["ReplicasReady", "Available"] } else { &[FEDERATED] };
    kinds.iter().find_map(|kind| {
        let (stands, reason, _) = said(find(object.status(), kind)?);
        let reason = Reason::parse(reason)?;
        let fails = stands == "False" && reason.responsible() == Responsible::User && !reason.is_wanted();
        fails.then_some(reason)
    })
}

/// [`WantedDeployment::identity`] of a WD as it is.
fn identity(object: &Object, workload: &str, uid: &str) -> u64 {
    let spec = object.spec();
    let known = |field: &str| WRITTEN_FIELDS.contains(&field) || KEPT_FIELDS.contains(&field);
    let unknown = spec.as_object().into_iter().flatten().filter(|(field, _)| !known(field));
    let unknown = unknown.fold(0, |sum: u64, (field, value)| {
        sum.wrapping_add(KeyedHasher::default().text(field).json(value).end())
    });
    let is = WantedDeployment {
        template: 0,
        restart: 0,
        scale: hash::json(&spec["scaleSettings"]),
        placement: spec["placementName"].as_str().unwrap_or_default(),
        city: spec["cityCode"].as_str().unwrap_or_default(),
        workload,
        uid,
        which: WantedTemplate::Kept,
        suspend: false,
    };
    let labels = is.labels().map(|(key, _)| object.label(key));
    let mut owners = object.metadata.owner_references.iter().flatten();
    let owned = owners.any(|owner| {
        owner.controller == Some(true)
            && owner.kind == "Workload"
            && owner.uid == uid
            && owner.name == workload
    });
    is.sum(labels, owned, unknown)
}

/// The index value of the WDs that name a Workload so.
pub fn of_workload(name: &str) -> u64 {
    KeyedHasher::default().text(name).end()
}

/// Hash of a condition's reason and message.
pub fn says(reason: &str, message: &str) -> u64 {
    KeyedHasher::default().text(reason).text(bounded(message)).end().max(1)
}

#[cfg(test)]
mod tests {
    use fedhub_core::names::PlaneName;
    use fedhub_core::object::{Kind, PlaneId, bare};

    use super::*;
    use crate::facts::Deployment;

    fn wd() -> Object {
        let mut wd = bare(Kind::WorkloadDeployment, "default", "web-us-dfw");
        wd.metadata.generation = Some(2);
        wd.metadata.labels = Some(
            wanted()
                .labels()
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value.unwrap().to_owned()))
                .collect(),
        );
        wd.metadata.owner_references = Some(vec![
            serde_json::from_value(json!({
                "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Workload", "name": "web", "uid": "u",
                "controller": true, "blockOwnerDeletion": true,
            }))
            .unwrap(),
        ]);
        wd.data = json!({"spec": {
            "cityCode": "DFW", "placementName": "us", "scaleSettings": {"minReplicas": 1},
            "template": {"spec": {"a": 1}}, "workloadRef": {"name": "web", "uid": "u"},
        }});
        wd
    }

    fn wanted() -> WantedDeployment<'static> {
        WantedDeployment {
            template: template_identity(&json!({"spec": {"a": 1}})),
            restart: mark_hash(None),
            scale: hash::json(&json!({"minReplicas": 1})),
            placement: "us",
            city: "DFW",
            workload: "web",
            uid: "u",
            which: WantedTemplate::Newest(None),
            suspend: false,
        }
    }

    #[test]
    fn w1_a_deployment_as_it_is_wanted_is_recognised_and_an_edit_of_it_too() {
        let is_wanted = |edit: fn(&mut Object)| {
            let mut wd = wd();
            edit(&mut wd);
            Placed::from_object(&wd).unwrap().is(&wanted())
        };
        assert!(is_wanted(|_| {}));
        // The scale subresource's, the runtime class's and other keys are not the Workload's (I9).
        assert!(is_wanted(|wd| wd.data["spec"]["replicas"] = json!(7)));
        assert!(is_wanted(|wd| wd.data["spec"]["networkAttachment"] = json!("Netns")));
        assert!(is_wanted(|wd| wd.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into())));
        assert!(!is_wanted(|wd| wd.data["spec"]["template"]["spec"]["a"] = json!(2)));
        assert!(!is_wanted(|wd| wd.data["spec"]["scaleSettings"]["minReplicas"] = json!(2)));
        assert!(!is_wanted(|wd| wd.data["spec"]["cityCode"] = json!("ORD")));
        assert!(!is_wanted(|wd| wd.data["spec"]["unknown"] = json!(1)));
        assert!(!is_wanted(|wd| wd.metadata.owner_references = None));
        assert!(!is_wanted(|wd| wd.metadata.labels = None));
        // A restart of the WD's own is kept, whatever its time, until the Workload asks for another one,
        // whatever the time of that.
        let given = |restart: Option<&str>| {
            let mut wd = wd();
            let annotations = json!({"compute.datumapis.com/restartedAt": "2026-01-02T00:00:00Z"});
            wd.data["spec"]["template"]["metadata"] = json!({"annotations": annotations});
            wd.metadata.annotations =
                restart.map(|time| [(WORKLOAD_RESTARTED_AT.to_owned(), time.to_owned())].into());
            Placed::from_object(&wd).unwrap()
        };
        let earlier = "2026-01-01T00:00:00Z";
        let later = "2026-01-03T00:00:00Z";
        for (was_given, asked_for) in [None, Some(earlier), Some(later)]
            .into_iter()
            .flat_map(|one| [None, Some(earlier), Some(later)].map(|other| (one, other)))
        {
            let wanted = WantedDeployment { restart: mark_hash(asked_for), ..wanted() };
            assert_eq!(given(was_given).is(&wanted), was_given == asked_for, "{was_given:?} {asked_for:?}");
        }
    }

    #[test]
    fn w1_of_a_paused_rollout_the_template_is_not_asked_for_and_all_else_is() {
        let paused = |template: Value, restart: Option<&str>| WantedDeployment {
            template: template_identity(&template),
            restart: mark_hash(restart),
            which: WantedTemplate::Kept,
            ..wanted()
        };
        let is = Placed::from_object(&wd()).unwrap();
        for (wanted, has_template) in [
            (paused(json!({"spec": {"a": 1}}), None), true),
            (paused(json!({"spec": {"a": 2}}), None), false),
            (paused(json!({"spec": {"a": 1}}), Some("2026-01-01T00:00:00Z")), false),
        ] {
            assert!(is.is(&wanted), "{wanted:?}");
            assert_eq!(is.has_template_of(&wanted), has_template, "{wanted:?}");
            assert!(!is.is(&WantedDeployment { scale: 0, ..wanted }));
        }
        let mut wd = wd();
        wd.metadata.labels = None;
        assert!(!Placed::from_object(&wd).unwrap().is(&paused(Value::Null, None)));
    }

    #[test]
    fn a_deployment_without_a_workload_and_one_of_the_hub_cost_nothing() {
        let mut wd = wd();
        let project = PlaneId::Project(PlaneName::new("p").unwrap());
        assert!(Deployment::new(&project, &wd).placed.is_some());
        assert!(Deployment::new(&PlaneId::Hub, &wd).placed.is_none());
        wd.data["spec"]["workloadRef"] = json!(null);
        assert!(Deployment::new(&project, &wd).placed.is_none());
    }

    #[test]
    fn w3_a_reason_that_requires_action_outweighs_one_that_passes() {
        let order = [
            "Odd",
            "InstancesProvisioning",
            "NetworkProvisioning",
            "PendingQuota",
            "Resolving",
            "SourceNotFound",
            "NetworkNotFound",
            "RuntimeClassNotServed",
            "ServiceNotActive",
        ];
        let weights = order.map(|reason| Reason::parse(reason).map_or(0, Reason::weight_in_workload));
        assert!(weights.is_sorted_by(|one, next| one < next), "{weights:?}");
        let [image, source] = [Reason::ImageUnavailable, Reason::SourceTooLarge];
        assert_eq!(image.weight_in_workload(), source.weight_in_workload());
    }
}
