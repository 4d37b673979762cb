//! `requests`: what fedhub asks of the API servers, by its own count, which has to agree with theirs.

use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::environment::{Environment, HANDS};
use super::figure::Figure;
use super::fixture::{Fixture, federated};
use super::judge::Bar;
use super::metrics::Scrape;
use super::objects::{Kind, api, reported};
use super::process::Process;
use super::report::Findings;
use super::stats::{number, rounded};
use super::watch::Arrivals;
use super::{Options, loader};
use crate::Error;

/// WDs that are federated, get a new status, and are touched without need.
const DEPLOYMENTS: usize = 2_000;
/// Namespaces that they are spread over.
const NAMESPACES: usize = 50;
/// Verbs that write.
const WRITES: [&str; 4] = ["create", "update", "patch", "delete"];
/// Resources that only fedhub writes in this benchmark, by plane: verb and resource as API servers name them,
/// and as fedhub does.
const CHECKED: [(&str, &str, &str, &str, &str); 4] = [
    ("project", "PATCH", "workloaddeployments", "patch", "workloaddeployments"),
    ("hub", "POST", "workloaddeployments", "create", "workloaddeployments"),
    ("hub", "POST", "namespaces", "create", "namespaces"),
    ("hub", "POST", "propagationpolicies", "create", "propagationpolicies"),
];

/// Counts, once: requests do not depend on the time of day.
pub async fn run(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let count = options.scaled(DEPLOYMENTS);
    let each = |requests: f64| rounded(requests / number(count), 4);
    let spaces = loader::spaces(&environment.project, "r", options.scaled(NAMESPACES)).await?;
    let mut fedhub = environment.fedhub().await?;

    let start = fedhub.scrape().await?;
    let servers = [count_at(&environment.project).await?, count_at(&environment.hub).await?];
    federated(environment, &spaces, "r", count).await?;
    fedhub.settled().await?;
    let federated = fedhub.scrape().await?.since(&start);
    let at_project = count_at(&environment.project).await?.since(&servers[0]);
    let at_hub = count_at(&environment.hub).await?.since(&servers[1]);
    let differences = disagreement(&federated, &at_project, &at_hub);
    environment.progress.step(format!("{count} WDs were federated"));
    fedhub.conditions_written(count).await?;
    let unanswered = fedhub.scrape().await?.since(&start);
    environment.progress.step("each has the condition for a missing status");

    let fixture = Fixture::find(environment, "r", spaces).await?;
    let updates = status_changes(environment, "r", &fixture, &mut fedhub).await?;
    environment.progress.step("each has a new status");
    let touched = touches(environment, &fixture, &mut fedhub).await?;
    environment.progress.step("each was touched without a change");
    fedhub.stop().await?;

    let [before, after] = [overdue(&unanswered), overdue(&updates)];
    let federation = each(all(&unanswered) - conditions_and_events(&unanswered) - before);
    let reads = each(all(&updates) - writes(&updates) - after);
    let writes = each(writes(&updates));
    let noop = each(all(&touched));
    let differing = differences.iter().map(|(_, _, difference)| difference.abs()).sum();
    let counted = |what, requests, bar| Figure::exact(what, "", requests).exactly(Bar::at_most(bar));
    let figures = vec![
        counted("for a WD", federation, 3.0),
        counted("for a status change: writes", writes, 1.0),
        counted("for a status change: reads", reads, 1.0),
        counted("for a no-op", noop, 0.0),
        counted("questions to Karmada, for a WD", each(before + after), 1.0),
        counted("difference from the API servers' count", differing, 0.0),
    ];
    let series = |scrape: &Scrape| {
        json!(scrape.by("fedhub_api_requests_total", &["plane_kind", "verb", "resource", "code"]))
    };
    let details = json!({
        "deployments": count,
        "namespaces": options.scaled(NAMESPACES),
        "per_deployment": federation,
        "per_deployment_conditions_and_events": each(conditions_and_events(&unanswered)),
        "per_status_change": { "writes": writes, "reads": reads },
        "overdue_reports": before + after,
        "per_no_op": noop,
        "passes_of_no_ops": touched.sum("fedhub_reconciles_total", &[]),
        "federation": series(&unanswered),
        "status": series(&updates),
        "no_op": series(&touched),
        "api_servers": differences.iter().map(|(what, theirs, difference)| json!({
            "what": what, "theirs": theirs, "difference": difference,
        })).collect::<Vec<_>>(),
    });
    Ok(Findings { figures, details })
}

/// A cell reports on every WD; the growth of fedhub's counters until the project shows it all.
pub(super) async fn status_changes(
    environment: &Environment,
    prefix: &str,
    fixture: &Fixture,
    fedhub: &mut Process,
) -> Result<Scrape, Error> {
    let before = fedhub.scrape().await?;
    let mut seen = Arrivals::watch(&environment.project, Kind::Deployment, prefix, |seen| {
        seen.status["readyReplicas"] == 1
    })
    .await?;
    let patch = Patch::Merge(json!({ "status": reported(1) }));
    let changes = fixture.on_hub.iter().map(|(home, wd)| {
        let api = api(&environment.hub, Kind::Deployment, &home.name);
        let patch = &patch;
        async move {
            let stored = api.patch_status(&wd.name, &PatchParams::default(), patch).await;
            stored.map(drop).map_err(Error::api(format!("report on {}", wd.name)))
        }
    });
    stream::iter(changes).buffer_unordered(HANDS).try_collect::<()>().await?;
    seen.all(fixture.on_hub.len()).await?;
    fedhub.settled().await?;
    Ok(fedhub.scrape().await?.since(&before))
}

/// Adds an unrelated annotation to every WD, on both planes: two events for each, nothing to do.
async fn touches(
    environment: &Environment,
    fixture: &Fixture,
    fedhub: &mut Process,
) -> Result<Scrape, Error> {
    let before = fedhub.scrape().await?;
    let on_hub = fixture.on_hub.iter().map(|(home, wd)| (&environment.hub, &home.name, &wd.name));
    let on_project = fixture.on_project.iter().map(|(space, wd)| (&environment.project, space, &wd.name));
    let touches = on_hub.chain(on_project).map(|(client, at, name)| touch(client, at, name));
    stream::iter(touches).buffer_unordered(HANDS).try_collect::<()>().await?;
    let events = number(fixture.on_hub.len());
    crate::topology::wait::until("a pass for every touch", std::time::Duration::from_mins(1), || async {
        let passes = fedhub.scrape().await?.since(&before).sum("fedhub_reconciles_total", &[]);
        // Two events of one WD may be answered by one pass.
        if passes >= events { Ok(()) } else { Err(crate::topology::wait::NotYet::again(passes)) }
    })
    .await?;
    fedhub.settled().await?;
    Ok(fedhub.scrape().await?.since(&before))
}

async fn touch(client: &Client, at: &str, name: &str) -> Result<(), Error> {
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { "example.com/touched": "yes" } } }));
    let api = api(client, Kind::Deployment, at);
    let params = PatchParams::default();
    let touched = api.patch_metadata(name, &params, &patch).await;
    touched.map(drop).map_err(Error::api(format!("touch {name}")))
}

/// The requests that answer something. A watch that the server ended is opened again, the hub is asked for
/// its newest version, that is remembered, and a plane is asked whether it serves a kind by now, whatever
/// there is to do.
pub(super) fn all(grown: &Scrape) -> f64 {
    let count = |labels: &[super::metrics::Label<'_>]| grown.sum("fedhub_api_requests_total", labels);
    let version = [("plane_kind", &["hub"][..]), ("verb", &["list"]), ("resource", &["namespaces"])];
    let unserved =
        [("verb", &["list"][..]), ("resource", &["locationbindings", "networks"]), ("code", &["404"])];
    let discovery = [("verb", &["other"][..]), ("resource", &["none"])];
    let [all, watches] = [count(&[]), count(&[("verb", &["watch"])])];
    all - watches
        - count(&version)
        - count(&unserved)
        - count(&discovery)
        - count(&[("plane_kind", &["management"])])
}

/// Counts those of [`all`] that ask Karmada about a WD on which no cell has reported for a minute (F8).
pub(super) fn overdue(grown: &Scrape) -> f64 {
    let bindings = [("plane_kind", &["hub"][..]), ("verb", &["get"]), ("resource", &["resourcebindings"])];
    grown.sum("fedhub_api_requests_total", &bindings)
}

/// Counts those of [`all`] that report the progress of WDs to users: an Event and, if no status arrives
/// within five seconds, a condition, for which the WD is read.
fn conditions_and_events(grown: &Scrape) -> f64 {
    let count = |verb: &str, resource: &str| {
        let labels = [("plane_kind", &["project"][..]), ("verb", &[verb]), ("resource", &[resource])];
        grown.sum("fedhub_api_requests_total", &labels)
    };
    count("create", "events")
        + count("get", "workloaddeployments")
        + count("update", "workloaddeployments/status")
}

pub(super) fn writes(grown: &Scrape) -> f64 {
    let on = [("plane_kind", &["hub", "project"][..]), ("verb", &WRITES)];
    grown.sum("fedhub_api_requests_total", &on)
}

/// The metrics of an API server.
async fn count_at(plane: &Client) -> Result<Scrape, Error> {
    let request = Request::get("/metrics").body(Vec::new());
    let request = request.map_err(|error| Error::Benchmark(format!("metrics: {error}")))?;
    let text = plane.request_text(request).await.map_err(Error::api("scrape an API server"))?;
    Ok(Scrape::parse(&text))
}

/// Returns what was compared, how often the API server saw it, and by how much fedhub's own count differs.
fn disagreement(fedhub: &Scrape, project: &Scrape, hub: &Scrape) -> Vec<(String, f64, f64)> {
    let compare = |(plane, their_verb, their_resource, verb, resource): (&str, &str, &str, &str, &str)| {
        let server = if plane == "hub" { hub } else { project };
        let labels: [super::metrics::Label<'_>; 3] =
            [("verb", &[their_verb]), ("resource", &[their_resource]), ("subresource", &[""])];
        let theirs = server.sum("apiserver_request_total", &labels);
        let labels: [super::metrics::Label<'_>; 3] =
            [("plane_kind", &[plane]), ("verb", &[verb]), ("resource", &[resource])];
        let ours = fedhub.sum("fedhub_api_requests_total", &labels);
        (format!("{plane} {verb} {resource}"), theirs, ours - theirs)
    };
    CHECKED.into_iter().map(compare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_compared_by_plane_verb_and_resource() {
        let fedhub = Scrape::parse(
            "fedhub_api_requests_total{plane_kind=\"project\",verb=\"patch\",resource=\"workloaddeployments\",code=\"200\"} 7\n\
             fedhub_api_requests_total{plane_kind=\"hub\",verb=\"create\",resource=\"workloaddeployments\",code=\"201\"} 5",
        );
        let project = Scrape::parse(
            "apiserver_request_total{verb=\"PATCH\",resource=\"workloaddeployments\",subresource=\"\",code=\"200\"} 7\n\
             apiserver_request_total{verb=\"PATCH\",resource=\"workloaddeployments\",subresource=\"status\",code=\"200\"} 9",
        );
        let hub = Scrape::parse(
            "apiserver_request_total{verb=\"POST\",resource=\"workloaddeployments\",subresource=\"\",code=\"201\"} 6",
        );
        let found = disagreement(&fedhub, &project, &hub);
        assert_eq!(found[0], ("project patch workloaddeployments".to_owned(), 7.0, 0.0));
        assert_eq!(found[1], ("hub create workloaddeployments".to_owned(), 6.0, -1.0));
    }
}
