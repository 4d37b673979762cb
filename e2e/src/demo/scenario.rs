//! One Workload on its way from a project to the cells of its cities, its Instances there, and what comes
//! back; then a new template that stops in the first city, and one that gets through.

mod canary;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kube::api::{DynamicObject, ListParams, PostParams};
use kube::{Api, Client, ResourceExt};

use super::Error;
use super::objects::{
    Kind, NAME, NAMESPACE, REPLICAS, SETTINGS, TOKEN, deployment_name, object, workload_with_data,
};
use super::printer::{Hops, Printer, millis};
use super::steps::{Mark, Step, Way};
use super::timeline::Timeline;
use crate::output::say;

/// How long one step may take. Usually it is less than a tenth of a second, and half a second more where the
/// provider starts an Instance.
pub const LIMIT: Duration = Duration::from_secs(30);

/// A project, the cities that it asks for, and who has to see nothing of it.
pub struct Scenario<'a> {
    /// Where it prints.
    pub printer: Printer,
    /// What is seen.
    pub timeline: &'a Timeline,
    /// The project plane's name.
    pub project: &'static str,
    /// The project's user.
    pub user: Client,
    /// The cities that the user asks for.
    pub cities: Vec<City>,
    /// The name of another project, and its user.
    pub other: (&'static str, Client),
    /// Where the logs are.
    pub logs: String,
}

/// A city with a cell.
pub struct City {
    /// Its code.
    pub code: &'static str,
    /// The name of its cell.
    pub cell: &'static str,
    /// An administrator of the cell.
    pub client: Client,
}

/// When which step of a city was seen.
type Marks = BTreeMap<(&'static str, Mark), Instant>;

/// A cause, and when the last of its effects was seen.
struct Thread {
    cause: Instant,
    last: Cell<Instant>,
}

impl Thread {
    fn from(cause: Instant) -> Self {
        Self { cause, last: Cell::new(cause) }
    }

    /// How long it is since the last effect, and since the cause. It is the last one now.
    fn hop(&self, at: Instant) -> (Duration, Duration) {
        // Each plane has a watch of its own, so that two steps may be seen in another order than they were
        // done in.
        let last = self.last.replace(self.last.get().max(at));
        (at.saturating_duration_since(last), at.saturating_duration_since(self.cause))
    }
}

impl Scenario<'_> {
    /// Plays it, and says what each hop took for each city. Fails at the first step that is not seen.
    pub async fn play(&self) -> Result<Vec<(&'static str, Hops)>, Error> {
        let cities = self.cities.iter().map(|city| (city.code, city.cell)).collect();
        let way = Way { project: self.project, namespace: self.hub_namespace().await?, cities };
        let thread = Thread::from(self.asks().await?);
        let (mut marks, _) = self.see(&thread, &way.down()).await?;
        self.printer.act(
            "both cells",
            "their fedhub creates the Instances in order, each when the last is Ready; the first awaits its ConfigMap and Secret",
        );
        let (back, end) = self.see(&thread, &way.back()).await?;
        marks.extend(back);
        let took = millis(end.saturating_duration_since(thread.cause));
        self.printer
            .well(&format!("  From the user's write to a Workload that is available in every city: {took}"));
        self.nowhere_else(&way.namespace).await?;
        self.canary(&way).await?;
        Ok(self.cities.iter().map(|city| (city.code, hops(thread.cause, &marks, city.code))).collect())
    }

    /// The name that the hub namespace will have.
    async fn hub_namespace(&self) -> Result<String, Error> {
        let namespaces: Api<DynamicObject> = Api::all_with(self.user.clone(), &Kind::Namespace.resource());
        let namespace = namespaces.get_metadata(NAMESPACE).await;
        let action = format!("get the namespace {NAMESPACE} of {}", self.project);
        let namespace = namespace.map_err(crate::Error::api(action))?;
        Ok(format!("ns-{}", namespace.uid().unwrap_or_default()))
    }

    /// The user writes. Returns when the Workload was written.
    async fn asks(&self) -> Result<Instant, Error> {
        let cities: Vec<_> = self.cities.iter().map(|city| city.code).collect();
        let asks = format!(
            "its user creates ConfigMap {SETTINGS}, Secret {TOKEN} and Workload {NAMESPACE}/{NAME}: {REPLICAS} Instances \
             in each of {}",
            cities.join(" and ")
        );
        self.printer.act(self.project, &asks);
        let mut cause = Instant::now();
        for (kind, manifest) in workload_with_data(&cities, REPLICAS) {
            let api: Api<DynamicObject> =
                Api::namespaced_with(self.user.clone(), NAMESPACE, &kind.resource());
            let object = object(manifest)?;
            let action = format!("create {} of {kind} on {}", object.name_any(), self.project);
            cause = Instant::now();
            api.create(&PostParams::default(), &object).await.map_err(crate::Error::api(action))?;
        }
        Ok(cause)
    }

    /// Waits for steps that need not come in this order, and prints each with the time since the last one of
    /// its thread and since its cause. Returns when the marked ones were seen, and the last of the list.
    async fn see(&self, thread: &Thread, steps: &[Step]) -> Result<(Marks, Instant), Error> {
        let times = self
            .timeline
            .all(LIMIT, steps, |index, at| {
                let step: &Step = &steps[index];
                let (hop, since) = thread.hop(at);
                self.printer.saw(hop, since, step.place.plane, &step.words);
            })
            .await;
        let times = times.map_err(|missing| self.not_seen(&steps[missing]))?;
        let marks = steps.iter().zip(&times).filter_map(|(step, at)| Some((step.mark?, *at)));
        Ok((marks.collect(), times.last().copied().unwrap_or(thread.cause)))
    }

    /// No cell has anything of another city, and no other project anything at all.
    async fn nowhere_else(&self, hub_namespace: &str) -> Result<(), Error> {
        for City { code, cell, client } in &self.cities {
            self.only(cell, client, hub_namespace, Some(&deployment_name(NAME, code))).await?;
            says(cell, &format!("has what is for {code} alone, as it should be"));
        }
        let (other, client) = &self.other;
        self.only(other, client, NAMESPACE, None).await?;
        says(other, "has none of it, as it should be");
        Ok(())
    }

    /// A namespace of a plane has nothing but this `WorkloadDeployment` and its Instances.
    async fn only(
        &self,
        plane: &'static str,
        client: &Client,
        namespace: &str,
        deployment: Option<&str>,
    ) -> Result<(), Error> {
        for kind in [Kind::Deployment, Kind::Instance] {
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind.resource());
            let list = api.list(&ListParams::default()).await;
            let list = list.map_err(crate::Error::api(format!("list {kind} on {plane}")))?;
            let is_its = |name: String| deployment.is_some_and(|deployment| name.starts_with(deployment));
            if !list.items.iter().all(|object| is_its(object.name_any())) {
                return Err(Error::Strayed { plane, kind, namespace: namespace.to_owned() });
            }
        }
        Ok(())
    }

    fn not_seen(&self, step: &Step) -> Error {
        Error::not_seen(step.place.plane, &step.words, LIMIT, self.timeline.trouble(), &self.logs)
    }
}

fn says(plane: &str, what: &str) {
    say(format_args!("{:>20}  {plane:<11} {what}", ""));
}

/// The hops of a city: of each Instance from the readiness of the last one (at first from the arrival in the
/// cell) to its own, and from there to the project; of the status from the last readiness to the project.
fn hops(cause: Instant, marks: &Marks, city: &'static str) -> Hops {
    let at = |mark: Mark| marks.get(&(city, mark)).copied().unwrap_or(cause);
    let mut hops = Vec::new();
    let mut hop = |label: String, from, to: Mark| hops.push((label, at(to).saturating_duration_since(from)));
    hop("down: from the user's write to the cell".to_owned(), cause, Mark::Arrived);
    let mut last = Mark::Arrived;
    for ordinal in 0..REPLICAS {
        let ready = Mark::Ready(ordinal);
        hop(format!("Instance {ordinal}: until it is Ready in the cell"), at(last), ready);
        hop(format!("Instance {ordinal}: from there to the project"), at(ready), Mark::Back(ordinal));
        last = ready;
    }
    hop("status back: from the last Ready to the project".to_owned(), at(last), Mark::Reported);
    hops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_begins_where_the_latest_ended() {
        let start = Instant::now();
        let millis = Duration::from_millis;
        let thread = Thread::from(start);
        assert_eq!(thread.hop(start + millis(5)), (millis(5), millis(5)));
        // Seen late, and done before.
        assert_eq!(thread.hop(start + millis(3)), (millis(0), millis(3)));
        assert_eq!(thread.hop(start + millis(9)), (millis(4), millis(9)));
    }

    #[test]
    fn each_hop_is_from_its_own_cause() {
        let start = Instant::now();
        let marks = [
            (Mark::Arrived, 5),
            (Mark::Ready(0), 520),
            (Mark::Back(0), 560),
            (Mark::Ready(1), 1050),
            (Mark::Back(1), 1080),
            (Mark::Reported, 1170),
        ];
        let marks = marks.map(|(mark, millis)| (("DFW", mark), start + Duration::from_millis(millis)));
        let found: Vec<_> =
            hops(start, &marks.into(), "DFW").into_iter().map(|(_, took)| took.as_millis()).collect();
        assert_eq!(found, [5, 515, 40, 530, 30, 120]);
    }

    #[test]
    fn every_hop_has_steps_that_it_is_taken_from() {
        let way = Way { project: "a", namespace: "ns-1".to_owned(), cities: vec![("DFW", "cell-dfw")] };
        let start = Instant::now();
        let steps: Vec<_> = way.down().into_iter().chain(way.back()).collect();
        let marked = steps.iter().filter_map(|step| step.mark);
        let marks: Marks =
            marked.zip(1..).map(|(mark, at)| (mark, start + Duration::from_secs(at))).collect();
        let hops = hops(start, &marks, "DFW");
        assert_eq!(hops.len(), marks.len());
        assert!(hops.iter().all(|(_, took)| !took.is_zero()), "{hops:?}");
    }
}
