//! From the cell to the project: the Instances, one after the other, and the status.

use std::time::Instant;

use kube::api::DynamicObject;

use super::{Error, Hops, Placed, Scenario, Thread};
use crate::demo::objects::{Kind, NAME, NAMESPACE, REPLICAS, all_ready, is_true, owned_by};
use crate::demo::timeline::Wanted;

/// What an object has to be like.
type Like<'a> = dyn Fn(&DynamicObject) -> bool + 'a;

/// How many of the steps below are about one Instance.
const STEPS: usize = 8;
/// Which of them says that it is ready in the cell, and which that it is so in the project.
const READY: usize = 5;
const BACK: usize = 7;

impl Scenario<'_> {
    /// What comes back does not wait for what goes on in the cell: these steps are awaited together, and printed in the
    /// order of their time.
    pub(super) async fn back(&self, thread: &Thread, placed: &Placed) -> Result<Hops, Error> {
        let Self { project, cell, .. } = *self;
        self.printer.act(
            cell,
            "its fedhub creates the Instances in order, each when the last is Ready; the provider is SIMULATED",
        );
        let space = &*placed.space;
        let made = |instance: &DynamicObject| owned_by(instance, &placed.in_cell);
        let copied = |instance: &DynamicObject| owned_by(instance, &placed.on_hub);
        let projected = |instance: &DynamicObject| owned_by(instance, &placed.in_project);
        let programmed = |instance: &DynamicObject| is_true(&instance.data["status"], "Programmed");
        let started = |instance: &DynamicObject| is_true(&instance.data["status"], "Available");
        let ready = |instance: &DynamicObject| is_true(&instance.data["status"], "Ready");
        let names: Vec<_> = (0..REPLICAS).map(|ordinal| format!("{NAME}-{ordinal}")).collect();

        let mut wanted = Vec::new();
        for name in &names {
            let steps: [(_, _, &Like<'_>, _); STEPS] = [
                (cell, space, &made, "is created, owned by the cell's WorkloadDeployment"),
                ("hub", space, &copied, "has a copy on the hub, owned by the hub's WorkloadDeployment"),
                (project, NAMESPACE, &projected, "is projected, owned by the project's WorkloadDeployment"),
                (cell, space, &programmed, "is programmed by the SIMULATED provider"),
                (cell, space, &started, "is started by the SIMULATED provider"),
                (cell, space, &ready, "is Ready, reported by the cell's fedhub"),
                ("hub", space, &ready, "is Ready on the hub"),
                (project, NAMESPACE, &ready, "is Ready in the project"),
            ];
            wanted.extend(steps.map(|(plane, namespace, like, words)| {
                let words = format!("{name} {words}");
                Wanted { plane, kind: Kind::Instance, namespace, name, like, words }
            }));
        }
        let status = |plane, namespace, words: &str| Wanted {
            plane,
            kind: Kind::Deployment,
            namespace,
            name: NAME,
            like: &all_ready,
            words: format!("{words}: Available=True, {REPLICAS} ready"),
        };
        wanted.extend([
            status(cell, space, "status of the WorkloadDeployment"),
            status("hub", space, "Karmada has aggregated the status on the hub"),
            status(project, NAMESPACE, "fedhub has copied the status to the project"),
        ]);
        let times = self.saw_all(thread, &wanted).await?;
        Ok(hops(&names, placed.at, &times))
    }
}

/// The hops between those times: of each Instance from the readiness of the last one (at first from the arrival in the
/// cell) to its own, and from there to the project; of the status from the last readiness to the project.
fn hops(names: &[String], arrival: Instant, times: &[Instant]) -> Hops {
    let mut hops = Vec::new();
    let mut last = arrival;
    for (name, times) in names.iter().zip(times.chunks(STEPS)) {
        let [ready, back] = [READY, BACK].map(|step| times[step]);
        hops.push((format!("{name}: until it is Ready in the cell"), ready.saturating_duration_since(last)));
        hops.push((format!("{name}: from there to the project"), back.saturating_duration_since(ready)));
        last = ready;
    }
    let status = times.last().map(|at| at.saturating_duration_since(last)).unwrap_or_default();
    hops.push(("status back: from the last Ready to the project".to_owned(), status));
    hops
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_hop_is_from_its_own_cause() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let first = [10, 20, 30, 500, 510, 520, 540, 560];
        // The second is made while the first is on its way back.
        let second = [530, 545, 570, 1030, 1040, 1050, 1070, 1080];
        let status = [1060, 1160, 1170];
        let times: Vec<_> = first.into_iter().chain(second).chain(status).map(at).collect();
        let names = ["web-0".to_owned(), "web-1".to_owned()];
        let found: Vec<_> =
            hops(&names, at(5), &times).into_iter().map(|(_, took)| took.as_millis()).collect();
        assert_eq!(found, [515, 40, 530, 30, 120]);
    }
}
