//! What the reading commands print on terminals of 60, 80 and 120 columns, and into a file; with characters
//! that are two columns wide.

use fedhub_cli::events::join::{Filter as EventFilter, Names, entries};
use fedhub_cli::instances::view::{Filter, described, rows, table as instances_table};
use fedhub_cli::model::{Index, Workload};
use fedhub_cli::quota::refusal::refusals;
use fedhub_cli::quota::view::allowances;
use fedhub_cli::reading::note;
use fedhub_cli::view::Look;
use fedhub_cli::workloads::url::Url;
use fedhub_cli::workloads::view::Row;
use fedhub_cli::{cities, events, explain, instance_types, problem, quota, status, workloads};
use fedhub_core::object::{Object, ObjectView};
use fedhub_testing::Messages;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::reading::support::{
    NO_IMAGE, blocked, condition, counts, deployment, image_missing, instance, look, now, object, over_quota,
    ready, serving, with, workload,
};

/// The objects of a project.
struct Project {
    workloads: Vec<Object>,
    deployments: Vec<Object>,
    instances: Vec<Object>,
    others: Vec<Object>,
}

fn project() -> Project {
    let available = || json!([condition("Available", "True", "AvailablePlacementFound", "")]);
    let all = |values: Vec<Value>| values.into_iter().map(object).collect();
    let mut api = instance("api", "DFW", 0, over_quota());
    api["status"]["networkInterfaces"] = Value::Null;
    Project {
        workloads: all(vec![
            workload("api", &["DFW"], json!({})),
            workload("storefront-web", &["AMS", "DFW", "LHR", "ORD"], with(counts(2, 2, 1), available())),
        ]),
        deployments: all(vec![
            deployment("storefront-web", "DFW", with(counts(1, 1, 1), serving())),
            deployment(
                "storefront-web",
                "ORD",
                with(counts(1, 1, 0), blocked("InstancesProvisioning", NO_IMAGE)),
            ),
        ]),
        instances: all(vec![
            instance("storefront-web", "DFW", 0, ready()),
            instance("storefront-web", "ORD", 0, image_missing()),
            api,
        ]),
        others: Vec::new(),
    }
}

impl Project {
    fn index(&self) -> Index<'_> {
        Index::new(&self.deployments, &self.instances)
    }

    fn seen(&self) -> Vec<Workload<'_>> {
        let index = self.index();
        self.workloads.iter().map(|it| index.workload(it)).collect()
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let url = |it: &Workload<'_>| match it.object.name() {
            "api" => Url::Unknown("Could not list URLs.".to_owned()),
            name => Url::Live(format!("https://{name}.prism.example.net")),
        };
        self.seen().into_iter().map(|workload| Row { url: url(&workload), workload }).collect()
    }
}

fn texts(project: &Project, look: &Look) -> Vec<(&'static str, String)> {
    let now = now();
    let rows_of_instances = rows(&project.instances, |_| None, Filter::default());
    let workload_rows = project.rows();
    let seen = project.seen();
    let overview = status::view::Overview { project: Some("shop"), workloads: &seen, unknown: None };
    let explained = explain::view::Explanation::new(&seen[1], None, true, true, now);
    vec![
        ("status", status::view::text(&overview, look, now)),
        ("workloads", workloads::view::table(&workload_rows, look, now)),
        ("workloads describe", workloads::describe::text(&workload_rows[1], true, look, now)),
        ("instances", instances_table(&rows_of_instances, look, now)),
        ("instances describe", described(&rows_of_instances[2], look, now)),
        ("explain", explain::view::text(&explained, |rest| format!("datumctl compute {rest}"), look, now)),
        ("events", events_text(project, look)),
        ("quota", quota_text(project, look)),
        ("cities", cities_text(project, look)),
        ("instance-types", instance_types_text(look)),
    ]
}

fn events_text(project: &Project, look: &Look) -> String {
    let event = |kind: &str, name: &str, minute: u32, type_: &str, reason: &str, note: &str| {
        object(json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": reason.to_lowercase(), "namespace": "default"},
            "involvedObject": {"apiVersion": "compute.datumapis.com/v1alpha", "kind": kind, "name": name},
            "type": type_, "reason": reason, "message": note, "eventTime": format!("2026-11-23T11:{minute}:00.000000Z"),
        }))
    };
    let all = [
        event("Instance", "storefront-web-us-ord-0", 58, "Warning", "ImageUnavailable", NO_IMAGE),
        event(
            "WorkloadDeployment",
            "storefront-web-us-dfw",
            40,
            "Normal",
            "Federated",
            "the cell has taken it",
        ),
    ];
    let names = Names::new(&project.workloads, &project.deployments);
    events::view::table(&entries(&all, &names, EventFilter::default()), look, now())
}

fn quota_text(project: &Project, look: &Look) -> String {
    let bucket = |resource: &str, limit: i64, used: i64| {
        object(json!({
            "apiVersion": "quota.miloapis.com/v1alpha1", "kind": "AllowanceBucket", "metadata": {"name": resource},
            "spec": {"resourceType": format!("compute.datumapis.com/{resource}"), "consumerRef": {"kind": "Project"}},
            "status": {"limit": limit, "allocated": used, "available": limit - used},
        }))
    };
    let buckets = [bucket("vcpus", 4000, 4000), bucket("instances", 10, 4), bucket("memory", 81920, 8192)];
    let rows = rows(&project.instances, |_| None, Filter::default());
    let refused = refusals(&rows, &project.others, &[]);
    quota::view::text(&allowances(&buckets, &[]), &refused, look)
}

fn cities_text(project: &Project, look: &Look) -> String {
    let binding = |city: &str, ready: &str| {
        object(json!({
            "apiVersion": "networking.datumapis.com/v1alpha", "kind": "LocationBinding",
            "metadata": {"name": city.to_lowercase()}, "spec": {"topology": {"topology.datum.net/city-code": city}},
            "status": {"conditions": [condition("Ready", ready, "Ready", "")]},
        }))
    };
    let bindings = [binding("DFW", "True"), binding("ORD", "False")];
    cities::view::table(&cities::view::cities(Some(&bindings), Some(&project.workloads)).rows, look)
}

fn instance_types_text(look: &Look) -> String {
    let offer = |name: &str, phase: &str| {
        object(json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "InstanceType", "metadata": {"name": name},
            "spec": {
                "displayName": "標準 (standard)", "resources": {"cpu": "1", "memory": "2Gi"},
                "lifecycle": {"phase": phase, "replacementInstanceType": "d1-standard-4"},
            },
        }))
    };
    let all = [offer("d1-standard-2", "Active"), offer("d0-standard-2", "Deprecated")];
    instance_types::view::table(&instance_types::view::offers(&all), look)
}

#[test]
fn output_fits_terminals_of_60_80_and_120_columns() {
    let project = project();
    let mut messages = Messages::default();
    for width in [60, 80, 120] {
        let texts = texts(&project, &look(Some(width)));
        for (name, text) in &texts {
            for line in text.lines() {
                let fits = line.width() <= width || is_whole(line);
                assert!(fits, "{name} at {width}: {} columns: {line}", line.width());
            }
        }
        messages.section(&format!("{width} columns"), texts);
    }
    messages.section("no terminal", texts(&project, &look(None)));
    fedhub_testing::assert_messages!("reading", messages);
}

/// Whether a line has a table's columns that are never cut, or a single word, and is as narrow as it can be.
fn is_whole(line: &str) -> bool {
    line.split_whitespace().count() == 1 || line.contains('…')
}

#[test]
fn what_cannot_be_read_is_told_with_what_to_do() {
    let denied = kube::core::Status { code: 403, ..kube::core::Status::default() };
    let error = kube::Error::Api(Box::new(denied));
    let text = note(&problem::Problem::from_error(error, "list instances"));
    assert_eq!(
        text,
        "Not everything is known here. Could not list instances: your account lacks the right to do that in this project. \
         Ask an administrator of the project for a role that allows it."
    );
}
