//! What the watches have to see of a template that fails in the first city, and of its correction.

use super::{Like, Mark, Step, Way};
use crate::demo::objects::{CORRECTED, Kind, MISTYPED, NAME, REPLICAS, deployment_name};

impl Way {
    /// Returns the steps of the mistyped template: it reaches the first city, fails there, and the Workload
    /// says that it goes no further. There are none without a city.
    pub fn stopped(&self) -> Vec<Step> {
        let workload = self.in_project(Kind::Workload, NAME);
        let Some((city, cell)) = self.cities.first() else { return Vec::new() };
        let name = deployment_name(NAME, city);
        // The Instance with the highest ordinal has its turn first.
        let canary = self.beyond(cell, Kind::Instance, &format!("{name}-{}", REPLICAS.saturating_sub(1)));
        let refused = Like::Says("Programmed", "False", "ImageUnavailable");
        let replaced = format!("{} is replaced by one with {MISTYPED}", canary.name);
        let unavailable = format!(
            "{}: the SIMULATED provider cannot pull it: Programmed=False, ImageUnavailable",
            canary.name
        );
        vec![
            Step::new(workload.clone(), [Like::Image(MISTYPED)], "it is stored"),
            Step::new(
                self.in_project(Kind::Deployment, &name),
                [Like::Image(MISTYPED)],
                format!("fedhub gives the template to {name}, the first in order"),
            ),
            Step::new(
                self.beyond(cell, Kind::Deployment, &name),
                [Like::Image(MISTYPED)],
                format!("Karmada has propagated it to the cell of {city}"),
            ),
            Step::new(canary.clone(), [Like::Image(MISTYPED)], replaced),
            Step::new(canary, [Like::Image(MISTYPED), refused], unavailable),
            Step::new(
                workload,
                [Like::Image(MISTYPED), Like::Says("Progressing", "False", "CityFailed")],
                "the Workload says that the rollout stopped: Progressing=False, CityFailed",
            ),
        ]
    }

    /// Returns the steps of the corrected template, which reaches every city.
    pub fn corrected(&self) -> Vec<Step> {
        let workload = self.in_project(Kind::Workload, NAME);
        let new = Like::Image(CORRECTED);
        let mut steps = vec![Step::new(workload.clone(), [new.clone()], "it is stored")];
        for (city, cell) in &self.cities {
            let name = deployment_name(NAME, city);
            let in_project = self.in_project(Kind::Deployment, &name);
            steps.push(
                Step::new(in_project.clone(), [new.clone()], format!("it is the turn of {name}"))
                    .marked(city, Mark::Turn),
            );
            for ordinal in (0..REPLICAS).rev() {
                let instance = self.beyond(cell, Kind::Instance, &format!("{name}-{ordinal}"));
                let words = format!("{} is Ready with {CORRECTED}", instance.name);
                steps.push(Step::new(instance, [new.clone(), Like::True("Ready")], words));
            }
            steps.push(
                Step::new(
                    in_project,
                    [new.clone(), Like::Updated(REPLICAS)],
                    format!("all of {name} is ready with it"),
                )
                .marked(city, Mark::Updated),
            );
        }
        let all = REPLICAS * u32::try_from(self.cities.len()).unwrap_or_default();
        let complete = Like::Says("Progressing", "False", "RolloutComplete");
        steps.push(Step::new(
            workload,
            [new, Like::Updated(all), complete],
            format!("the Workload says so for all its cities: {all} ready, RolloutComplete"),
        ));
        steps
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::{Value, json};

    use super::*;
    use crate::demo::objects::{IMAGE, image_change, object, workload_with_data};
    use crate::demo::steps::{Place, Sighting};

    fn way() -> Way {
        let cities = vec![("DFW", "cell-dfw"), ("ORD", "cell-ord")];
        Way { project: "a", namespace: "ns-1".to_owned(), cities }
    }

    /// The Workload with an image, and what it says of its generation 2.
    fn workload(image: &str, observed: i64, reason: &str) -> Value {
        let [.., (_, mut workload)] = workload_with_data(&["DFW", "ORD"], REPLICAS);
        workload["spec"]["template"] = image_change(image)["spec"]["template"].clone();
        workload["metadata"]["generation"] = json!(2);
        workload["status"] = json!({
            "observedGeneration": observed, "updatedReplicas": 4, "readyReplicas": 4,
            "conditions": [
                { "type": "Available", "status": "True" },
                { "type": "Progressing", "status": "False", "reason": reason },
            ],
        });
        workload
    }

    fn sees(step: &Step, manifest: Value) -> bool {
        let Place { plane, kind, .. } = step.place.clone();
        let sighting = Sighting { at: Instant::now(), plane, kind, object: object(manifest).unwrap() };
        step.is(&sighting, &[])
    }

    #[test]
    fn r6_only_the_first_city_gets_the_mistyped_template() {
        let steps = way().stopped();
        assert!(steps.iter().all(|step| !step.place.name.contains("ord") && step.place.plane != "cell-ord"));
        let stop = steps.last().unwrap();
        assert!(sees(stop, workload(MISTYPED, 2, "CityFailed")));
        assert!(!sees(stop, workload(MISTYPED, 2, "RolloutComplete")));
        assert!(!sees(stop, workload(IMAGE, 2, "CityFailed")));
    }

    #[test]
    fn r4_the_end_is_reported_about_the_corrected_template() {
        let steps = way().corrected();
        let end = steps.last().unwrap();
        assert!(sees(end, workload(CORRECTED, 2, "RolloutComplete")));
        // What is said of the template before it is no end.
        assert!(!sees(end, workload(CORRECTED, 1, "RolloutComplete")));
        assert!(!sees(end, workload(IMAGE, 2, "RolloutComplete")));
        assert!(!sees(end, workload(CORRECTED, 2, "CityFailed")));
    }

    #[test]
    fn every_city_has_a_turn_and_an_end() {
        let marks: Vec<_> = way().corrected().iter().filter_map(|step| step.mark).collect();
        let expected = ["DFW", "ORD"].map(|city| [(city, Mark::Turn), (city, Mark::Updated)]);
        assert_eq!(marks, expected.concat());
    }
}
