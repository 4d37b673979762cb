//! The WD that a Workload asks for, as an object (W1).
//!
//! The spec is replaced as a whole, but for what others write there: `replicas` is the scale subresource's
//! number, and stands until the Workload's scale settings for that placement change, which are the newer
//! word; `networkAttachment` stands; and so does a restart of the WD's own, which restarts one city alone,
//! until the Workload asks for another one. A WD whose turn has not come keeps its template whole, and one
//! that is to have an earlier revision is rendered from a Workload with the template of that. Where scaling
//! ends, the number of instances stays. A WD that is suspended by itself
//! stays so; one that its Workload suspended is resumed with it (W11). Labels, annotations, finalizers and
//! owner references that are not ours stand too (I9).

use fedhub_api::facts::carried::WantedTemplate;
use fedhub_api::facts::placed::{KEPT_FIELDS, WantedDeployment};
use fedhub_api::facts::restarts::{self, revision_mark};
use fedhub_api::hub_metadata::set_annotation;
use fedhub_core::hash;
use fedhub_core::names::{DEPLOYMENT_REVISION, SUSPENDED, WORKLOAD_RESTARTED_AT, WORKLOAD_SUSPENDED};
use fedhub_core::object::{Kind, Object, ObjectView, bare, set_field};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Value, json};

/// The WD that `workload`, with the template of the wanted revision, asks for, in place of `current`, if
/// there is one.
pub fn desired(
    workload: &Object,
    name: &str,
    wanted: &WantedDeployment<'_>,
    current: Option<&Object>,
) -> Object {
    let space = workload.namespace();
    let mut wd = current.cloned().unwrap_or_else(|| bare(Kind::WorkloadDeployment, space, name));
    let labels = wd.metadata.labels.get_or_insert_default();
    for (key, value) in wanted.labels() {
        match value {
            Some(value) => labels.insert(key.to_owned(), value.to_owned()),
            None => labels.remove(key),
        };
    }
    own(&mut wd, workload);
    let spec = spec(workload, wanted, current);
    set_field(&mut wd, "spec", spec);
    if wanted.suspend {
        set_annotation(&mut wd, SUSPENDED, Some("true"));
        set_annotation(&mut wd, WORKLOAD_SUSPENDED, Some("true"));
    } else if wd.annotation(WORKLOAD_SUSPENDED).is_some() {
        set_annotation(&mut wd, SUSPENDED, None);
        set_annotation(&mut wd, WORKLOAD_SUSPENDED, None);
    }
    if wanted.which != WantedTemplate::Kept {
        let restart = restarts::restart(&workload.spec()["template"]);
        if restart != wd.annotation(WORKLOAD_RESTARTED_AT) {
            set_annotation(&mut wd, WORKLOAD_RESTARTED_AT, restart);
        }
        let mark = wanted.revision().map(|revision| revision_mark(revision, &wd.spec()["template"]));
        set_annotation(&mut wd, DEPLOYMENT_REVISION, mark.as_deref());
    }
    wd
}

/// Makes `workload` the controller of a WD.
fn own(wd: &mut Object, workload: &Object) {
    let owners = wd.metadata.owner_references.get_or_insert_default();
    let resource = Kind::Workload.resource();
    let is_ours = |owner: &OwnerReference| {
        owner.controller == Some(true)
            && owner.kind == resource.kind
            && owner.uid == workload.uid()
            && owner.name == workload.name()
    };
    if owners.iter().any(is_ours) {
        return;
    }
    // One object has one controller, and a plane refuses a second reference to the same owner.
    owners.retain(|owner| owner.controller != Some(true) && owner.uid != workload.uid());
    owners.push(owner(workload, true));
}

/// A reference to a Workload as an owner.
pub fn owner(workload: &Object, controller: bool) -> OwnerReference {
    let resource = Kind::Workload.resource();
    OwnerReference {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
        name: workload.name().to_owned(),
        uid: workload.uid().to_owned(),
        controller: controller.then_some(true),
        // The finalizer holds the Workload, and this would need the right to update finalizers.
        block_owner_deletion: None,
    }
}

fn spec(workload: &Object, wanted: &WantedDeployment<'_>, standing: Option<&Object>) -> Value {
    let current = standing.map(Object::spec);
    let placements = workload.spec()["placements"].as_array().into_iter().flatten();
    let is_it =
        |it: &&Value| it["name"] == wanted.placement && hash::json(&it["scaleSettings"]) == wanted.scale;
    let scale = placements.into_iter().find(is_it).map(|it| &it["scaleSettings"]);
    let mut spec = json!({
        "workloadRef": {"name": wanted.workload, "uid": wanted.uid},
        "placementName": wanted.placement,
        "cityCode": wanted.city,
        "scaleSettings": scale,
        "template": workload.spec()["template"],
    });
    if let Some(current) = current
        && wanted.which == WantedTemplate::Kept
    {
        spec["template"] = current["template"].clone();
    } else if let Some(standing) = standing {
        let restart = restarts::restart(&spec["template"]);
        if restart.is_none() || restart == standing.annotation(WORKLOAD_RESTARTED_AT) {
            restarts::keep(&mut spec["template"], &standing.spec()["template"]);
        }
    }
    if let Some(number) = standing.and_then(|standing| last_number(standing, &spec["scaleSettings"])) {
        spec["replicas"] = number.into();
    }
    for field in KEPT_FIELDS {
        let kept = current.and_then(|current| current.get(field));
        let newer =
            field == "replicas" && current.is_some_and(|it| it["scaleSettings"] != spec["scaleSettings"]);
        if let Some(kept) = kept
            && !newer
        {
            spec[field] = kept.clone();
        }
    }
    spec
}

/// The number of instances that a WD had last, where scaling ends and nothing else is said: as in Kubernetes,
/// where the end of an autoscaler leaves the number alone. Its cell alone knows it, and has reported it.
fn last_number(standing: &Object, settings: &Value) -> Option<i64> {
    let before = &standing.spec()["scaleSettings"];
    let ends =
        is_scaling(before) && !is_scaling(settings) && before["minReplicas"] == settings["minReplicas"];
    let number = standing.status()["desiredReplicas"].as_i64()?;
    (ends && Some(number) > settings["minReplicas"].as_i64()).then_some(number)
}

fn is_scaling(settings: &Value) -> bool {
    let metrics = settings["metrics"].as_array().is_some_and(|metrics| !metrics.is_empty());
    settings["maxReplicas"].is_i64() && metrics
}

/// Whether a WD is what the plane makes of `desired`, its spec aside.
pub fn same_metadata(desired: &Object, current: &Object) -> bool {
    let a = &desired.metadata;
    let b = &current.metadata;
    let labels = |of: &Object| of.metadata.labels.clone().unwrap_or_default();
    labels(desired) == labels(current)
        && a.owner_references == b.owner_references
        && [WORKLOAD_RESTARTED_AT, DEPLOYMENT_REVISION, SUSPENDED, WORKLOAD_SUSPENDED]
            .iter()
            .all(|key| desired.annotation(key) == current.annotation(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload() -> Object {
        let mut workload = bare(Kind::Workload, "default", "web");
        workload.metadata.uid = Some("u".to_owned());
        workload.data = json!({"spec": {
            "placements": [{"name": "us", "cityCodes": ["DFW"], "scaleSettings": {"minReplicas": 1}}],
            "template": {"spec": {"image": "a:1"}, "unknown": true},
        }});
        workload
    }

    fn wanted(workload: &Object) -> WantedDeployment<'static> {
        let scale = hash::json(&workload.data["spec"]["placements"][0]["scaleSettings"]);
        WantedDeployment {
            template: 0,
            restart: 0,
            scale,
            placement: "us",
            city: "DFW",
            workload: "web",
            uid: "u",
            which: WantedTemplate::Newest(None),
            suspend: false,
        }
    }

    #[test]
    fn i1_w1_a_new_deployment_has_the_template_whole_and_no_number_of_its_own() {
        let wd = desired(&workload(), "web-us-dfw", &wanted(&workload()), None);
        let expected = json!({
            "workloadRef": {"name": "web", "uid": "u"}, "placementName": "us", "cityCode": "DFW",
            "scaleSettings": {"minReplicas": 1}, "template": {"spec": {"image": "a:1"}, "unknown": true},
        });
        assert_eq!((wd.spec(), wd.namespace()), (&expected, "default"));
        assert_eq!(wd.label("compute.datumapis.com/workload-uid"), Some("u"));
        let owner = &wd.metadata.owner_references.unwrap()[0];
        assert_eq!((owner.uid.as_str(), owner.controller), ("u", Some(true)));
    }

    #[test]
    fn w1_an_owner_reference_whose_name_was_edited_is_put_right() {
        let wanted = wanted(&workload());
        let made = desired(&workload(), "web-us-dfw", &wanted, None);
        let mut edited = made.clone();
        edited.metadata.owner_references.as_mut().unwrap()[0].name = "another".to_owned();
        let again = desired(&workload(), "web-us-dfw", &wanted, Some(&edited));
        assert_eq!(again.metadata.owner_references, made.metadata.owner_references);
    }

    #[test]
    fn i9_w1_what_others_write_stands_and_the_rest_of_the_spec_is_replaced() {
        let mut current = desired(&workload(), "web-us-dfw", &wanted(&workload()), None);
        current.data["spec"]["replicas"] = json!(5);
        current.data["spec"]["networkAttachment"] = json!("Netns");
        current.data["spec"]["extra"] = json!(1);
        current.data["spec"]["template"] = json!({"spec": {"image": "hand:1"}});
        current.metadata.labels.as_mut().unwrap().insert("mine".to_owned(), "1".to_owned());
        current.metadata.finalizers = Some(vec!["compute.datumapis.com/federator".to_owned()]);
        let wd = desired(&workload(), "web-us-dfw", &wanted(&workload()), Some(&current));
        assert_eq!(wd.spec()["replicas"], 5);
        assert_eq!(wd.spec()["networkAttachment"], "Netns");
        assert_eq!(wd.spec().get("extra"), None);
        assert_eq!(wd.spec()["template"], workload().spec()["template"]);
        assert_eq!(wd.label("mine"), Some("1"));
        assert_eq!(wd.metadata.finalizers, current.metadata.finalizers);
    }

    #[test]
    fn w1_a_restart_of_one_city_stands_until_the_workload_asks_for_another_one() {
        let of = |time: &str| json!({"annotations": {"compute.datumapis.com/restartedAt": time}});
        let mut current = desired(&workload(), "web-us-dfw", &wanted(&workload()), None);
        current.data["spec"]["template"]["metadata"] = of("2026-01-02T00:00:00Z");
        let kept = desired(&workload(), "web-us-dfw", &wanted(&workload()), Some(&current));
        assert_eq!(kept.spec()["template"], current.spec()["template"]);
        // Later or earlier, by whatever clock.
        for time in ["2026-01-03T00:00:00Z", "2026-01-01T00:00:00Z"] {
            let mut restarted = workload();
            restarted.data["spec"]["template"]["metadata"] = of(time);
            let mut all = desired(&restarted, "web-us-dfw", &wanted(&restarted), Some(&current));
            assert_eq!(all.spec()["template"], restarted.spec()["template"], "{time}");
            // The city is restarted alone again: it was given the Workload's.
            all.data["spec"]["template"]["metadata"] = of("2025-01-01T00:00:00Z");
            let alone = desired(&restarted, "web-us-dfw", &wanted(&restarted), Some(&all));
            assert_eq!(alone.spec()["template"], all.spec()["template"], "{time}");
        }
    }

    #[test]
    fn w1_while_the_rollout_is_paused_the_template_stands_and_the_rest_is_written() {
        let mut current = desired(&workload(), "web-us-dfw", &wanted(&workload()), None);
        current.data["spec"]["template"] = json!({"spec": {"image": "hand:1"}});
        let mut edited = workload();
        edited.data["spec"]["template"]["spec"]["image"] = json!("a:2");
        edited.data["spec"]["placements"][0]["scaleSettings"]["minReplicas"] = json!(3);
        let paused = WantedDeployment { which: WantedTemplate::Kept, ..wanted(&edited) };
        let wd = desired(&edited, "web-us-dfw", &paused, Some(&current));
        assert_eq!(wd.spec()["template"], current.spec()["template"]);
        assert_eq!(wd.spec()["scaleSettings"]["minReplicas"], 3);
    }

    #[test]
    fn w1_the_end_of_scaling_keeps_the_number_unless_another_is_said() {
        let metrics = json!([{"resource": {"name": "cpu", "target": {"averageUtilization": 70}}}]);
        let scaled = json!({"minReplicas": 2, "maxReplicas": 30, "metrics": metrics});
        let with = |settings: Value| {
            let mut workload = workload();
            workload.data["spec"]["placements"][0]["scaleSettings"] = settings;
            workload
        };
        let mut current = desired(&with(scaled.clone()), "web-us-dfw", &wanted(&with(scaled.clone())), None);
        for (reported, settings, expected) in [
            (json!(20), json!({"minReplicas": 2}), json!(20)),
            (json!(20), json!({"minReplicas": 3}), Value::Null),
            (json!(2), json!({"minReplicas": 2}), Value::Null),
            (Value::Null, json!({"minReplicas": 2}), Value::Null),
            (json!(20), json!({"minReplicas": 2, "maxReplicas": 9, "metrics": metrics}), Value::Null),
        ] {
            current.data["status"] = json!({"desiredReplicas": reported});
            let edited = with(settings.clone());
            let wd = desired(&edited, "web-us-dfw", &wanted(&edited), Some(&current));
            assert_eq!(wd.spec()["replicas"], expected, "{reported} {settings}");
        }
        // What was kept stands as any number of the scale subresource.
        let fixed = with(json!({"minReplicas": 2}));
        current.data["status"] = json!({"desiredReplicas": 20});
        let kept = desired(&fixed, "web-us-dfw", &wanted(&fixed), Some(&current));
        assert_eq!(desired(&fixed, "web-us-dfw", &wanted(&fixed), Some(&kept)).spec(), kept.spec());
    }

    #[test]
    fn w11_a_suspended_workload_suspends_and_resumes_its_deployments_as_one() {
        let workload = workload();
        let says = |wd: &Object| {
            (wd.annotation(SUSPENDED).map(str::to_owned), wd.annotation(WORKLOAD_SUSPENDED).is_some())
        };
        let suspended = WantedDeployment { suspend: true, ..wanted(&workload) };
        let mut wd = desired(&workload, "web-us-dfw", &suspended, None);
        assert_eq!(says(&wd), (Some("true".to_owned()), true));
        wd.metadata.annotations.as_mut().unwrap().remove(SUSPENDED);
        let again = desired(&workload, "web-us-dfw", &suspended, Some(&wd));
        assert_eq!(says(&again), (Some("true".to_owned()), true), "edited by hand");
        let resumed = desired(&workload, "web-us-dfw", &wanted(&workload), Some(&again));
        assert_eq!(says(&resumed), (None, false));
        // One that is suspended by itself is nobody else's to resume.
        let mut alone = resumed;
        set_annotation(&mut alone, SUSPENDED, Some("true"));
        let standing = desired(&workload, "web-us-dfw", &wanted(&workload), Some(&alone));
        assert_eq!(says(&standing), (Some("true".to_owned()), false));
    }

    #[test]
    fn w1_a_label_that_has_no_valid_value_any_more_goes() {
        let mut current = desired(&workload(), "web-us-dfw", &wanted(&workload()), None);
        let long = "x".repeat(64);
        let named = WantedDeployment { workload: &long, ..wanted(&workload()) };
        let wd = desired(&workload(), "web-us-dfw", &named, Some(&current));
        assert_eq!(wd.label("compute.datumapis.com/workload-name"), None);
        current.metadata.labels = None;
        let wd = desired(&workload(), "web-us-dfw", &wanted(&workload()), Some(&current));
        assert_eq!(wd.label("compute.datumapis.com/workload-name"), Some("web"));
    }

    #[test]
    fn w1_new_scale_settings_are_a_newer_word_than_the_number_of_the_scale_subresource() {
        let mut current = desired(&workload(), "web-us-dfw", &wanted(&workload()), None);
        current.data["spec"]["replicas"] = json!(5);
        let mut edited = workload();
        edited.data["spec"]["placements"][0]["scaleSettings"]["minReplicas"] = json!(2);
        assert_eq!(
            desired(&edited, "web-us-dfw", &wanted(&edited), Some(&current)).spec().get("replicas"),
            None
        );
        edited.data["spec"]["placements"][0]["scaleSettings"]["minReplicas"] = json!(1);
        edited.data["spec"]["template"]["spec"]["image"] = json!("a:2");
        assert_eq!(desired(&edited, "web-us-dfw", &wanted(&edited), Some(&current)).spec()["replicas"], 5);
    }
}
