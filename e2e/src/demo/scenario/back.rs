//! From the cells to the project: the Instances, one after the other in each city, and the status.

use std::time::Instant;

use kube::api::DynamicObject;

use super::{DATA, Deployment, Error, Hops, Like, Placed, Scenario, Thread, is_companion};
use crate::demo::objects::{Kind, NAME, NAMESPACE, REPLICAS, are_ready, is_true, owned_by};
use crate::demo::timeline::Wanted;

/// How many of the steps below are about one Instance.
const STEPS: usize = 8;
/// Which of them says that it is ready in the cell, and which that it is so in the project.
const READY: usize = 5;
const BACK: usize = 7;

impl Scenario<'_> {
    /// What comes back does not wait for what goes on in the cells: these steps are awaited together, and printed in the
    /// order of their time.
    pub(super) async fn back(
        &self,
        thread: &Thread,
        placed: &Placed,
    ) -> Result<Vec<(&'static str, Hops)>, Error> {
        self.printer.act(
            "both cells",
            "their fedhub creates the Instances in order, each when the last is Ready; the first awaits its ConfigMap and Secret",
        );
        let all = REPLICAS * u32::try_from(self.cities.len()).unwrap_or_default();
        let sum = |seen: &DynamicObject| {
            seen.metadata.uid.as_deref() == Some(&*placed.workload) && are_ready(seen, all)
        };
        let likes: Vec<_> = placed.deployments.iter().map(Likes::of).collect();
        let mut wanted = Vec::new();
        for ((city, deployment), likes) in self.cities.iter().zip(&placed.deployments).zip(&likes) {
            for name in &likes.instances {
                wanted.extend(self.instance(city.cell, &placed.space, name, likes));
            }
            wanted.extend(DATA.map(|(kind, name, what)| Wanted {
                plane: city.cell,
                kind,
                namespace: &placed.space,
                name,
                like: &is_companion,
                words: format!("{what} {name} has followed {}", deployment.name),
            }));
            wanted.extend(self.statuses(city.cell, &placed.space, &deployment.name));
        }
        wanted.push(Wanted {
            plane: self.project,
            kind: Kind::Workload,
            namespace: NAMESPACE,
            name: NAME,
            like: &sum,
            words: format!("the Workload says so for all its cities: Available=True, {all} ready"),
        });
        let times = self.saw_all(thread, &wanted).await?;
        if let Some(end) = times.last() {
            self.took(thread, *end);
        }
        let instances = likes.first().map_or(0, |likes| likes.instances.len());
        let each = times.chunks(STEPS * instances + DATA.len() + STATUSES);
        let ways = self.cities.iter().zip(&placed.deployments).zip(each);
        Ok(ways
            .map(|((city, deployment), times)| {
                let down = deployment.at.saturating_duration_since(thread.cause);
                let mut way = vec![("down: from the user's write to the cell".to_owned(), down)];
                way.extend(hops(deployment.at, times));
                (city.code, way)
            })
            .collect())
    }

    /// The steps of one Instance.
    fn instance<'a>(
        &self,
        cell: &'static str,
        space: &'a str,
        name: &'a str,
        likes: &'a Likes<'a>,
    ) -> [Wanted<'a>; STEPS] {
        let project = self.project;
        let steps: [(_, _, &'a Like<'a>, _); STEPS] = [
            (cell, space, &*likes.made, "is created, owned by the cell's WorkloadDeployment"),
            ("hub", space, &*likes.copied, "has a copy on the hub, owned by the hub's WorkloadDeployment"),
            (
                project,
                NAMESPACE,
                &*likes.projected,
                "is projected, owned by the project's WorkloadDeployment",
            ),
            (cell, space, &programmed, "is programmed by the SIMULATED provider"),
            (cell, space, &started, "is started by the SIMULATED provider"),
            (cell, space, &ready, "is Ready, reported by the cell's fedhub"),
            ("hub", space, &ready, "is Ready on the hub"),
            (project, NAMESPACE, &ready, "is Ready in the project"),
        ];
        steps.map(|(plane, namespace, like, words)| {
            let words = format!("{name} {words}");
            Wanted { plane, kind: Kind::Instance, namespace, name, like, words }
        })
    }

    /// The status of a `WorkloadDeployment` on its way.
    fn statuses<'a>(&self, cell: &'static str, space: &'a str, name: &'a str) -> [Wanted<'a>; STATUSES] {
        let steps = [
            (cell, space, format!("status of {name}")),
            ("hub", space, format!("Karmada has aggregated the status of {name} on the hub")),
            (self.project, NAMESPACE, format!("fedhub has copied the status of {name} to the project")),
        ];
        steps.map(|(plane, namespace, words)| Wanted {
            plane,
            kind: Kind::Deployment,
            namespace,
            name,
            like: &all_ready,
            words: format!("{words}: Available=True, {REPLICAS} ready"),
        })
    }
}

/// How many steps are about the status of a `WorkloadDeployment`.
const STATUSES: usize = 3;

/// What the Instances of a `WorkloadDeployment` are called and, on each plane, whose they are.
struct Likes<'a> {
    instances: Vec<String>,
    made: Box<Like<'a>>,
    copied: Box<Like<'a>>,
    projected: Box<Like<'a>>,
}

impl<'a> Likes<'a> {
    fn of(deployment: &'a Deployment) -> Self {
        Self {
            instances: (0..REPLICAS).map(|ordinal| format!("{}-{ordinal}", deployment.name)).collect(),
            made: Box::new(|instance| owned_by(instance, &deployment.in_cell)),
            copied: Box::new(|instance| owned_by(instance, &deployment.on_hub)),
            projected: Box::new(|instance| owned_by(instance, &deployment.in_project)),
        }
    }
}

fn programmed(instance: &DynamicObject) -> bool {
    is_true(&instance.data["status"], "Programmed")
}

fn started(instance: &DynamicObject) -> bool {
    is_true(&instance.data["status"], "Available")
}

fn ready(instance: &DynamicObject) -> bool {
    is_true(&instance.data["status"], "Ready")
}

fn all_ready(deployment: &DynamicObject) -> bool {
    are_ready(deployment, REPLICAS)
}

/// The hops between those times: of each Instance from the readiness of the last one (at first from the arrival in the
/// cell) to its own, and from there to the project; of the status from the last readiness to the project.
fn hops(arrival: Instant, times: &[Instant]) -> Hops {
    let mut hops = Vec::new();
    let mut last = arrival;
    for (ordinal, times) in times.chunks_exact(STEPS).enumerate() {
        let [ready, back] = [READY, BACK].map(|step| times[step]);
        let until = ready.saturating_duration_since(last);
        hops.push((format!("Instance {ordinal}: until it is Ready in the cell"), until));
        let back = back.saturating_duration_since(ready);
        hops.push((format!("Instance {ordinal}: from there to the project"), back));
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
        let (data, status) = ([5, 6], [1060, 1160, 1170]);
        let times: Vec<_> = first.into_iter().chain(second).chain(data).chain(status).map(at).collect();
        let found: Vec<_> = hops(at(5), &times).into_iter().map(|(_, took)| took.as_millis()).collect();
        assert_eq!(found, [515, 40, 530, 30, 120]);
    }
}
