//! A template with a mistyped image stops in the first city, and the corrected one reaches all of them.

use std::time::{Duration, Instant};

use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client};

use super::{City, Marks, Scenario, Thread, says};
use crate::demo::Error;
use crate::demo::objects::{
    CORRECTED, IMAGE, Kind, MISTYPED, NAME, NAMESPACE, REPLICAS, are_ready, condition, deployment_name,
    image, image_change, is_true,
};
use crate::demo::printer::millis;
use crate::demo::steps::{Mark, Sighting, Way};

/// How long the other cities are watched after the first one has failed.
const HELD: Duration = Duration::from_secs(3);

impl Scenario<'_> {
    /// Plays it. Fails at the first step that is not seen, and when a city is not left alone or does not wait
    /// for its turn.
    pub(super) async fn canary(&self, way: &Way) -> Result<(), Error> {
        self.printer
            .head(&format!("{} mistypes an image: the rollout stops in the first city", self.project));
        let thread = Thread::from(self.changes(MISTYPED).await?);
        self.see(&thread, &way.stopped()).await?;
        tokio::time::sleep(HELD).await;
        self.held(way, thread.cause).await?;

        self.printer.head("It is corrected, and reaches one city after the other");
        let thread = Thread::from(self.changes(CORRECTED).await?);
        let (marks, end) = self.see(&thread, &way.corrected()).await?;
        in_turn(&marks, &way.cities)?;
        let took = millis(end.saturating_duration_since(thread.cause));
        self.printer
            .well(&format!("  From the corrected image to a Workload that has it in every city: {took}"));
        Ok(())
    }

    /// The user changes the image. Returns when.
    async fn changes(&self, image: &str) -> Result<Instant, Error> {
        self.printer
            .act(self.project, &format!("its user changes the image of {NAMESPACE}/{NAME} to {image}"));
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.user.clone(), NAMESPACE, &Kind::Workload.resource());
        let cause = Instant::now();
        let changed = api.patch(NAME, &PatchParams::default(), &Patch::Merge(image_change(image))).await;
        let action = format!("change the image of {NAME} on {}", self.project);
        changed.map_err(crate::Error::api(action))?;
        Ok(cause)
    }

    /// The Workload says why the rollout stands, and nothing has come to the cities after the first.
    async fn held(&self, way: &Way, since: Instant) -> Result<(), Error> {
        let workload = read(self.project, &self.user, Kind::Workload, NAMESPACE, NAME).await?;
        let progressing = condition(&workload.data["status"], "Progressing");
        let [status, reason, message] = ["status", "reason", "message"]
            .map(|field| progressing.and_then(|condition| condition[field].as_str()).unwrap_or("(nothing)"));
        says(self.project, &format!("Progressing={status}, {reason}: {message}"));
        for (index, City { code, cell, client }) in self.cities.iter().enumerate() {
            let name = deployment_name(NAME, code);
            let deployment = read(cell, client, Kind::Deployment, &way.namespace, &name).await?;
            let ready = &deployment.data["status"]["readyReplicas"];
            let carried = image(&deployment).unwrap_or("no image");
            let state = format!("{name} has {carried}, {ready} of {REPLICAS} Instances ready");
            says(cell, &state);
            let is_disturbed = image(&deployment) != Some(IMAGE)
                || !are_ready(&deployment, REPLICAS)
                || self.timeline.any_since(since, |seen| disturbs(seen, &name));
            if index > 0 && is_disturbed {
                return Err(Error::NotHeld { city: code, what: state });
            }
        }
        Ok(())
    }
}

/// Reads an object as it is now.
async fn read(
    plane: &str,
    client: &Client,
    kind: Kind,
    namespace: &str,
    name: &str,
) -> Result<DynamicObject, Error> {
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind.resource());
    let action = format!("get {name} of {kind} on {plane}");
    Ok(api.get(name).await.map_err(crate::Error::api(action))?)
}

/// Whether this shows that a `WorkloadDeployment` that is to be left alone was not: it or an Instance of it
/// has another image, or an Instance is not ready.
fn disturbs(seen: &Sighting, deployment: &str) -> bool {
    let name = seen.object.metadata.name.as_deref().unwrap_or_default();
    let is_changed = image(&seen.object) != Some(IMAGE);
    match seen.kind {
        Kind::Deployment => name == deployment && is_changed,
        Kind::Instance => {
            let is_its = name.strip_prefix(deployment).is_some_and(|ordinal| ordinal.starts_with('-'));
            is_its && (is_changed || !is_true(&seen.object.data["status"], "Ready"))
        }
        _ => false,
    }
}

/// Fails when a city had its turn before the one ahead of it had ended. One watch sees both, so that their
/// order is that of the writes.
fn in_turn(marks: &Marks, cities: &[(&'static str, &'static str)]) -> Result<(), Error> {
    for pair in cities.windows(2) {
        let [(before, _), (city, _)] = *pair else { continue };
        if marks.get(&(city, Mark::Turn)) < marks.get(&(before, Mark::Updated)) {
            return Err(Error::OutOfTurn { city, before });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CITIES: [(&str, &str); 2] = [("DFW", "cell-dfw"), ("ORD", "cell-ord")];

    fn marks(times: [((&'static str, Mark), u64); 4]) -> Marks {
        let start = Instant::now();
        times.map(|(mark, millis)| (mark, start + Duration::from_millis(millis))).into()
    }

    #[test]
    fn r3_no_city_overtakes_the_one_before_it() {
        let turns = |second| {
            marks([
                (("DFW", Mark::Turn), 1),
                (("DFW", Mark::Updated), 5),
                (("ORD", Mark::Turn), second),
                (("ORD", Mark::Updated), 9),
            ])
        };
        assert!(in_turn(&turns(6), &CITIES).is_ok());
        assert!(matches!(in_turn(&turns(4), &CITIES), Err(Error::OutOfTurn { city: "ORD", before: "DFW" })));
    }

    #[test]
    fn r6_a_city_is_disturbed_by_another_image_or_by_an_instance_that_is_not_ready() {
        let seen = |kind, name: &str, image: &str, ready: &str| {
            let runtime = json!({ "sandbox": { "containers": [{ "name": "app", "image": image }] } });
            let spec = match kind {
                Kind::Deployment => json!({ "template": { "spec": { "runtime": runtime } } }),
                _ => json!({ "runtime": runtime }),
            };
            let object = json!({
                "metadata": { "name": name }, "spec": spec,
                "status": { "conditions": [{ "type": "Ready", "status": ready }] },
            });
            let object = serde_json::from_value(object).unwrap();
            Sighting { at: Instant::now(), plane: "cell-ord", kind, object }
        };
        let name = "web-us-ord";
        for (kind, object, image, ready, expected) in [
            (Kind::Deployment, "web-us-ord", IMAGE, "True", false),
            (Kind::Deployment, "web-us-ord", MISTYPED, "True", true),
            (Kind::Deployment, "web-us-dfw", MISTYPED, "True", false),
            (Kind::Instance, "web-us-ord-0", IMAGE, "True", false),
            (Kind::Instance, "web-us-ord-0", IMAGE, "False", true),
            (Kind::Instance, "web-us-ord-1", MISTYPED, "True", true),
            (Kind::Instance, "web-us-dfw-1", MISTYPED, "False", false),
            (Kind::Instance, "web-us-ordinary-1", MISTYPED, "False", false),
        ] {
            let seen = seen(kind, object, image, ready);
            assert_eq!(disturbs(&seen, name), expected, "{kind} {object} {image} {ready}");
        }
    }
}
