use super::*;

/// What the tests have to know of each type.
pub(super) trait Touch {
    /// How Prometheus calls it.
    const TYPE: &'static str;

    /// Makes a series that has its labels' names as values.
    fn touch(&self, labels: &[&str]);
}

macro_rules! touch {
    ($($type:ty: $kind:literal, |$metric:ident, $labels:ident| $touch:expr;)+) => {
        $(impl Touch for $type {
            const TYPE: &'static str = $kind;

            fn touch(&self, $labels: &[&str]) {
                let $metric = self;
                let _ = $touch;
            }
        })+
    };
}

touch! {
    IntCounter: "counter", |it, _labels| it;
    IntCounterVec: "counter", |it, labels| it.with_label_values(labels);
    IntGauge: "gauge", |it, _labels| it;
    IntGaugeVec: "gauge", |it, labels| it.with_label_values(labels);
    GaugeVec: "gauge", |it, labels| it.with_label_values(labels);
    Histogram: "histogram", |it, _labels| it;
    HistogramVec: "histogram", |it, labels| it.with_label_values(labels);
}

#[test]
fn every_hop_is_there_from_the_first_scrape() {
    let metrics = Metrics::new().unwrap();
    metrics.propagated(Hop::ProjectToHub, Duration::from_millis(20));
    let text = metrics.encode(|_| true).unwrap();
    for hop in ["project_to_hub", "hub_to_project_status", "hub_to_project_instance", "cell_to_hub"] {
        assert!(text.contains(&format!("fedhub_propagation_seconds_count{{hop=\"{hop}\"}}")), "{text}");
    }
    assert!(text.contains("fedhub_propagation_seconds_bucket{hop=\"project_to_hub\",le=\"0.025\"} 1"));
}

#[test]
fn a_standby_leaves_out_what_only_the_leader_works_on() {
    let metrics = Metrics::new().unwrap();
    for controller in ["federator", "write_back"] {
        metrics.objects.with_label_values(&[controller, "pending"]).set(1);
        metrics.reconciles.with_label_values(&[controller, "updated"]).inc();
    }
    metrics.finalizers_held.with_label_values(&["hub_unreachable"]).set(1);
    metrics.leader.with_label_values(&["management"]).set(0);
    let shown = |leads: fn(Option<&str>) -> bool| {
        let text = metrics.encode(leads).unwrap();
        [
            "fedhub_objects{controller=\"federator\"",
            "fedhub_objects{controller=\"write_back\"",
            "fedhub_finalizers_held{",
        ]
        .map(|series| text.contains(series))
    };
    assert_eq!(shown(|_| true), [true; 3]);
    assert_eq!(shown(|controller| controller == Some("write_back")), [false, true, false]);
    assert_eq!(shown(|controller| controller.is_none()), [false, false, true]);
    let text = metrics.encode(|_| false).unwrap();
    for name in LEADER_ONLY {
        assert!(!text.contains(&format!("fedhub_{name}")), "{name}: {text}");
    }
    assert!(text.contains("fedhub_reconciles_total{") && text.contains("fedhub_leader{"), "{text}");
}

const UNITS: [&str; 9] =
    ["milliseconds", "microseconds", "minutes", "hours", "days", "kilobytes", "megabytes", "bits", "percent"];
const ABBREVIATIONS: [&str; 15] =
    ["s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d", "kib"];

/// What `promtool check metrics` has against a metric, as far as a name shows it.
fn faults(name: &str, kind: &str, help: &str, labels: &[&str]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut forbid = |is_so: bool, what: &str| is_so.then(|| faults.push(format!("{name}: {what}")));
    let parts: Vec<_> = name.split('_').collect();
    let snake = |name: &str| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    forbid(help.is_empty(), "no help text");
    forbid((kind == "counter") != name.ends_with("_total"), "counters, and only they, end in _total");
    let reserved = ["_bucket", "_count", "_sum"];
    forbid(reserved.iter().any(|suffix| name.ends_with(suffix)), "a suffix of histograms");
    forbid(
        labels.iter().any(|label| ["le", "quantile", "instance", "job"].contains(label)),
        "a reserved label",
    );
    forbid(parts.contains(&kind), "the type in the name");
    forbid(!snake(name) || !labels.iter().all(|label| snake(label)), "not in snake case");
    forbid(parts.iter().any(|part| ABBREVIATIONS.contains(part)), "an abbreviated unit");
    forbid(parts.iter().any(|part| UNITS.contains(part)), "not a base unit");
    forbid(kind == "histogram" && !name.ends_with("_seconds"), "a histogram of time without its unit");
    faults
}

#[test]
fn every_name_is_as_promtool_wants_it() {
    let found: Vec<_> =
        DECLARED.iter().flat_map(|(name, kind, help, labels)| faults(name, kind, help, labels)).collect();
    assert!(found.is_empty(), "{found:#?}");
    assert!(DECLARED.len() >= 35);
    for (name, kind, help, labels, count) in [
        ("reconciles", "counter", "", &[][..], 2),
        ("objects_total", "gauge", "Objects.", &[], 1),
        ("objects_count", "gauge", "Objects.", &["le"], 2),
        ("wait_ms", "histogram", "Time.", &[], 2),
        ("waitTime_seconds", "histogram", "Time.", &[], 1),
        ("gauge_minutes", "gauge", "Time.", &[], 2),
    ] {
        assert_eq!(
            faults(name, kind, help, labels).len(),
            count,
            "{name}: {:?}",
            faults(name, kind, help, labels)
        );
    }
}

/// `cargo test -p fedhub-core every_metric_is_in_a_scrape -- --nocapture` prints what
/// `promtool check metrics` reads.
#[test]
fn every_metric_is_in_a_scrape_with_its_type_and_its_help() {
    let metrics = Metrics::new().unwrap();
    metrics.touch();
    let text = metrics.encode(|_| true).unwrap();
    println!("{text}");
    for (name, kind, help, _) in DECLARED {
        assert!(text.contains(&format!("# TYPE fedhub_{name} {kind}\n")), "{name}: {text}");
        assert!(text.contains(&format!("# HELP fedhub_{name} {help}\n")), "{name}: {text}");
    }
    for name in LEADER_ONLY {
        assert!(DECLARED.iter().any(|(declared, kind, ..)| *declared == name && *kind == "gauge"), "{name}");
    }
}
