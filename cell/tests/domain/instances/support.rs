//! A WD `web` and a cell that holds its Instances.

use std::collections::BTreeMap;

use fedhub_cell::domain::instances::{
    Deployment, Instance, Replacement, RolloutPlan, labels, name, ordinal, plan,
};
use fedhub_core::object::{Kind, Object, bare};
use serde_json::{Value, json};

pub const WD: &str = "web";
pub const WD_UID: &str = "uid-of-web";

/// A template that differs from others by `release`.
pub fn template(release: u32) -> Value {
    json!({
        "metadata": {"labels": {"app": "web"}, "annotations": {"release": release.to_string()}},
        "spec": {
            "runtime": {"resources": {"instanceType": "datumcloud/d1-standard-2"}},
            "networkInterfaces": [{"network": {"name": "default"}}],
        },
    })
}

/// The WD in the cell, on a template.
pub fn wd(template: Value) -> Object {
    let mut object = bare(Kind::WorkloadDeployment, "ns-a", WD);
    object.metadata.uid = Some(WD_UID.to_owned());
    object.data = json!({"spec": {
        "cityCode": "DFW",
        "placementName": "us",
        "workloadRef": {"name": "shop", "uid": "uid-of-shop"},
        "scaleSettings": {"minReplicas": 3, "instanceManagementPolicy": "OrderedReady"},
        "template": template,
    }});
    object
}

/// One Instance of the cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    pub name: String,
    pub uid: String,
    pub owner: Option<String>,
    pub terminating: bool,
    pub ready: bool,
    pub hash: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub replacement: Replacement,
}

impl Held {
    pub fn ours(name: &str) -> Self {
        let held = Self {
            name: name.to_owned(),
            uid: format!("uid-of-{name}"),
            owner: Some(WD_UID.to_owned()),
            terminating: false,
            ready: false,
            hash: None,
            labels: BTreeMap::new(),
            replacement: Replacement::default(),
        };
        let wd = wd(template(0));
        match ordinal(WD, name) {
            Some(ordinal) => {
                let own = labels(&Deployment::from_object(&wd), ordinal);
                Self { labels: own.into_iter().map(|(k, v)| (k.to_owned(), v)).collect(), ..held }
            }
            None => held,
        }
    }

    pub fn slot(ordinal: u32) -> Self {
        Self::ours(&name(WD, ordinal))
    }

    pub fn on(self, release: u32) -> Self {
        let wd = wd(template(release));
        Self { hash: Some(Deployment::from_object(&wd).template_hash), ..self }
    }

    pub fn ready(self) -> Self {
        Self { ready: true, ..self }
    }

    pub fn deleting(self) -> Self {
        Self { terminating: true, ..self }
    }

    pub fn denied(self) -> Self {
        Self { replacement: Replacement::Denied, ..self }
    }

    pub fn foreign(self) -> Self {
        Self { owner: Some("uid-of-another".to_owned()), labels: BTreeMap::new(), ..self }
    }

    pub fn ordinal(&self) -> Option<u32> {
        ordinal(WD, &self.name)
    }

    pub fn is_ours(&self) -> bool {
        self.owner.as_deref() == Some(WD_UID)
    }

    pub fn view(&self) -> Instance<'_> {
        Instance {
            name: &self.name,
            uid: &self.uid,
            owner: self.owner.as_deref(),
            terminating: self.terminating,
            ready: self.ready,
            template_hash: self.hash.as_deref(),
            labels: Some(&self.labels),
            replacement: self.replacement,
        }
    }
}

/// Plans over what the cell holds, and gives the plan to `look`.
pub fn planned<T>(wd: &Object, desired: u32, held: &[Held], look: impl FnOnce(&RolloutPlan<'_>) -> T) -> T {
    let views: Vec<_> = held.iter().map(Held::view).collect();
    look(&plan(&Deployment::from_object(wd), desired, &views))
}

/// A step in a few words.
pub fn words(plan: &RolloutPlan<'_>) -> String {
    use fedhub_cell::domain::instances::{InstanceStep, InstanceWait};
    match &plan.step {
        InstanceStep::Rest => "rest".to_owned(),
        InstanceStep::Create(ordinal) => format!("create {ordinal}"),
        InstanceStep::Replace(instance) => format!("replace {}", instance.name),
        InstanceStep::Delete(them) => {
            format!("delete {}", them.iter().map(|i| i.name).collect::<Vec<_>>().join(" "))
        }
        InstanceStep::Wait(InstanceWait::Deleting(i)) => format!("Deleting {}", i.name),
        InstanceStep::Wait(InstanceWait::NotReady(i)) => format!("NotReady {}", i.name),
        InstanceStep::Wait(InstanceWait::NameTaken(i)) => format!("NameTaken {}", i.name),
        InstanceStep::Wait(InstanceWait::UnknownPolicy(_)) => "UnknownPolicy".to_owned(),
        InstanceStep::Wait(InstanceWait::NoTemplate) => "NoTemplate".to_owned(),
    }
}

/// 2026-01-01T00:00:00Z.
pub fn now() -> jiff::Timestamp {
    jiff::Timestamp::from_second(1_767_225_600).unwrap()
}
