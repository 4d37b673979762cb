//! One trace for a change on its way from its project to the cell and back: both roles as processes, on
//! planes in memory, with an OTLP receiver. The test is Karmada.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

mod planes;
mod receiver;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use planes::Planes;
use receiver::{Receiver, attribute};

/// What takes part in a change.
const CONTROLLERS: [&str; 5] = ["federator", "deployments", "readiness", "write_back", "projector"];

/// I7: nothing is written for it that would not be written without.
#[tokio::test(flavor = "multi_thread")]
async fn i7_a_change_is_one_trace_across_federator_cell_and_projector_and_costs_no_write() {
    let receiver = Receiver::start().await;
    let planes = Planes::start().await;
    let processes = [planes.management(receiver.endpoint()), planes.cell_role(receiver.endpoint())];
    let mut seen = BTreeMap::<Vec<u8>, BTreeSet<String>>::new();
    let mut spans = Vec::new();
    let arrived = async {
        loop {
            planes.carry();
            if let Ok(batch) = tokio::time::timeout(Duration::from_millis(20), receiver.spans()).await {
                for span in &batch {
                    let by = attribute(span, "fedhub.controller").unwrap_or(&span.name);
                    seen.entry(span.trace_id.clone()).or_default().insert(by.to_owned());
                }
                spans.extend(batch);
            }
            let whole = |names: &BTreeSet<String>| {
                CONTROLLERS.iter().chain(&["change"]).all(|name| names.contains(*name))
            };
            if let Some((trace, _)) = seen.iter().find(|(_, names)| whole(names)) {
                return trace.clone();
            }
        }
    };
    let trace = tokio::time::timeout(Duration::from_secs(30), arrived).await;
    let trace = trace.unwrap_or_else(|_| panic!("{seen:?}"));
    drop(processes);
    let of: Vec<_> = spans.iter().filter(|span| span.trace_id == trace).collect();
    let root = of.iter().find(|span| span.name == "change").unwrap();
    let wd = planes.wd();
    for span in &of {
        assert!(span.span_id == root.span_id || span.parent_span_id == root.span_id, "{span:?}");
        assert_eq!(attribute(span, "fedhub.change.uid"), wd["metadata"]["uid"].as_str());
    }
    assert_eq!(attribute(root, "fedhub.object.name"), Some("web"));
    // The trace is in the mark that the hub WD has anyway.
    let annotations = |object: &serde_json::Value| -> BTreeSet<String> {
        object["metadata"]["annotations"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, _)| key.clone())
            .collect()
    };
    let ours = |names: &[&str]| names.iter().map(|name| format!("federation.datumapis.com/{name}")).collect();
    let mark: BTreeSet<String> = ours(&["source", "source-uid", "source-generation"]);
    assert_eq!(annotations(&planes.hub_wd()), mark);
    let copies = planes.hub.list("Instance").into_iter().chain(planes.project.list("Instance"));
    for copy in copies {
        let known: BTreeSet<String> = ours(&["cell-source", "projected-from"]);
        assert!(annotations(&copy).is_subset(&known), "{copy}");
    }
}
