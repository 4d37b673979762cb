//! What a user asked of the power of an Instance, as the simulated provider reads it: from its WD (V9).

use dashmap::DashMap;
use fedhub_api::instance_power::{PowerAsked, power_of};
use fedhub_api::{Instance, WorkloadDeployment};
use fedhub_core::names::INSTANCE_POWER;
use fedhub_core::object::{Object, ObjectView};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, Client};

use crate::drive::kind;

/// The name and the UID of the WD that made an Instance.
fn maker(instance: &Object) -> Option<(&str, &str)> {
    let mut owners = instance.metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true)).map(|owner| (owner.name.as_str(), owner.uid.as_str()))
}

/// What the Instance's WD asks of its power, as the WD is now.
pub async fn asked(client: &Client, instance: &Object) -> kube::Result<PowerAsked> {
    let Some((name, uid)) = maker(instance) else { return Ok(PowerAsked::default()) };
    let api =
        Api::<Object>::namespaced_with(client.clone(), instance.namespace(), &kind::<WorkloadDeployment>());
    let wd = api.get_opt(name).await?.filter(|wd| wd.uid() == uid);
    Ok(wd.map(|wd| power_of(&wd, instance.name())).unwrap_or_default())
}

/// What each WD asked last, by its UID: a WD whose status alone changes wakes no Instance.
#[derive(Default)]
pub struct Orders(DashMap<String, String>);

impl Orders {
    /// The Instances that a WD concerns which asks for something else than before.
    pub fn concerned(&self, wd: &Object, instances: &Store<Object>) -> Vec<ObjectRef<Object>> {
        let text = wd.annotation(INSTANCE_POWER).unwrap_or_default();
        let before = self.0.insert(wd.uid().to_owned(), text.to_owned());
        if before.unwrap_or_default() == text {
            return Vec::new();
        }
        let all = instances.state();
        let those = all.iter().filter(|instance| maker(instance).is_some_and(|(_, uid)| uid == wd.uid()));
        those.map(|instance| ObjectRef::from_obj_with(instance.as_ref(), kind::<Instance>())).collect()
    }
}
