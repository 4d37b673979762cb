//! The lines of the table: one for each hop, as far as it was read.

use fedhub_api::cells::CellDown;
use fedhub_api::conditions::{find, is_true, said};
use fedhub_api::facts::deployment::FEDERATED;
use fedhub_api::reason::Reason;
use fedhub_core::names::FEDERATOR_FINALIZER;
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;

use super::chain::{
    Chain, Read, all, condition_turned_at, created_at, deleted_at, path, source_generation, written_at,
};
use super::hop::Hop;

/// One hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The hop.
    pub hop: Hop,
    /// The plane that it is on.
    pub plane: String,
    /// The object, or how many.
    pub object: String,
    /// Its state, in one or two words.
    pub state: String,
    /// When the state began.
    pub since: Option<Timestamp>,
    /// What else is known: a message, a finalizer, an error of reading.
    pub detail: String,
}

/// All hops.
pub fn rows(chain: &Chain) -> Vec<Row> {
    let project = format!("project {}", chain.subject.plane);
    let cell = chain.cell_name().map_or_else(|| "cell".to_owned(), |name| format!("cell {name}"));
    let cell_wd = chain.cell().map_or(&Read::Skipped, |cell| &cell.wd);
    vec![
        of(Hop::ProjectWd, &project, &chain.project.wd, project_wd),
        of(Hop::HubNamespace, "hub", &chain.hub.namespace, |it| plain(it, "Active")),
        policy(chain),
        of(Hop::HubWd, "hub", &chain.hub.wd, |it| {
            plain(it, &format!("Generation {}", source_generation(it)))
        }),
        of(Hop::Binding, "hub", &chain.hub.binding, binding),
        work(chain),
        cell_row(chain, &cell, cell_wd),
        counted(
            Hop::Instances,
            &cell,
            chain.instances(),
            &chain.cell().map_or(Read::Skipped, |it| it.instances.clone()),
        ),
        counted(Hop::Copies, "hub", Some(chain.copies()), &chain.hub.copies),
        counted(Hop::Projections, &project, Some(chain.projections()), &chain.project.instances),
    ]
}

/// State, since when, and detail of an object.
type Seen = (String, Option<Timestamp>, String);

fn of(hop: Hop, plane: &str, read: &Read<Object>, seen: impl FnOnce(&Object) -> Seen) -> Row {
    let (object, (state, since, detail)) = match read {
        Read::Found(object) => (path(object), seen(object)),
        Read::Skipped => (String::new(), ("NotRead".to_owned(), None, String::new())),
        Read::Absent => (String::new(), ("Missing".to_owned(), None, String::new())),
        Read::Failed(error) => (String::new(), unread(error.failure.into(), &error.message)),
    };
    Row { hop, plane: plane.to_owned(), object, state, since, detail }
}

fn unread(failure: &'static str, message: &str) -> Seen {
    let state = match failure {
        "unreachable" => "Unreachable",
        "unauthorized" => "Unauthorized",
        "forbidden" => "Forbidden",
        "not-served" => "NotServed",
        _ => "Invalid",
    };
    (state.to_owned(), None, message.to_owned())
}

fn finalizers(object: &Object) -> String {
    object.metadata.finalizers.clone().unwrap_or_default().join(", ")
}

fn plain(object: &Object, state: &str) -> Seen {
    if object.is_terminating() {
        return ("Terminating".to_owned(), deleted_at(object), finalizers(object));
    }
    (state.to_owned(), written_at(object), String::new())
}

fn project_wd(wd: &Object) -> Seen {
    if wd.is_terminating() {
        return plain(wd, "");
    }
    if !wd.has_finalizer(FEDERATOR_FINALIZER) {
        return ("NotFederated".to_owned(), created_at(wd), String::new());
    }
    match find(wd.status(), FEDERATED) {
        Some(federated) => {
            let (_, reason, message) = said(federated);
            (
                reason.to_owned(),
                condition_turned_at(wd, FEDERATED).or_else(|| created_at(wd)),
                message.to_owned(),
            )
        }
        None => ("Marked".to_owned(), created_at(wd), String::new()),
    }
}

fn policy(chain: &Chain) -> Row {
    let first = match &chain.hub.policies {
        Read::Found(policies) => policies.first().map_or(Read::Absent, |it| Read::Found(it.clone())),
        Read::Skipped => Read::Skipped,
        Read::Absent => Read::Absent,
        Read::Failed(error) => Read::Failed(error.clone()),
    };
    of(Hop::Policy, "hub", &first, |it| plain(it, "Present"))
}

fn binding(binding: &Object) -> Seen {
    if binding.is_terminating() {
        return plain(binding, "");
    }
    let cluster = binding.spec()["clusters"][0]["name"].as_str();
    let (state, since) = match find(binding.status(), "Scheduled") {
        Some(scheduled) if said(scheduled).0 == "True" => {
            ("Scheduled".to_owned(), condition_turned_at(binding, "Scheduled"))
        }
        Some(scheduled) => (said(scheduled).1.to_owned(), condition_turned_at(binding, "Scheduled")),
        None => ("Unscheduled".to_owned(), None),
    };
    let detail = cluster.map_or_else(String::new, |cluster| format!("cluster {cluster}"));
    (state, since.or_else(|| created_at(binding)), detail)
}

/// The Work, or where that cannot be read what the `ResourceBinding` has of it.
fn work(chain: &Chain) -> Row {
    let seen = |work: &Object| {
        let applied = find(work.status(), "Applied").map(said);
        let (state, detail) = match applied {
            Some(("True", _, _)) => ("Applied", String::new()),
            Some((_, _, message)) => ("ApplyFailed", message.to_owned()),
            None => ("Pending", String::new()),
        };
        (state.to_owned(), condition_turned_at(work, "Applied").or_else(|| created_at(work)), detail)
    };
    if let Some(work) = all(&chain.hub.works).first() {
        return of(Hop::Work, "hub", &Read::Found(work.clone()), seen);
    }
    let items = chain.hub.binding.found().and_then(|it| it.status()["aggregatedStatus"].as_array());
    let item = items.and_then(|items| items.first());
    let (state, detail) = match item {
        Some(item) if item["applied"] == true => ("Applied", "by the ResourceBinding".to_owned()),
        Some(item) => ("NotApplied", item["appliedMessage"].as_str().unwrap_or_default().to_owned()),
        None => ("NotRead", chain.hub.works.failure().map_or_else(String::new, |it| it.message.clone())),
    };
    let since = chain.hub.binding.found().and_then(|it| condition_turned_at(it, "FullyApplied"));
    let missing = chain.hub.works.found().is_some_and(Vec::is_empty) && item.is_none();
    let state = if missing { "Missing" } else { state };
    Row {
        hop: Hop::Work,
        plane: "hub".to_owned(),
        object: String::new(),
        state: state.to_owned(),
        since,
        detail,
    }
}

/// The WD in the cell; where the cell was not read, what the hub has of its status.
fn cell_row(chain: &Chain, plane: &str, read: &Read<Object>) -> Row {
    let seen = |wd: &Object| match find(wd.status(), "Available") {
        Some(available) => {
            let (status, reason, message) = said(available);
            let state = if status == "True" { "Available" } else { reason };
            (state.to_owned(), condition_turned_at(wd, "Available"), message.to_owned())
        }
        None => ("Unreported".to_owned(), created_at(wd), String::new()),
    };
    let mut row = match (read, chain.hub.wd.found()) {
        (Read::Skipped, Some(hub)) => {
            let row = of(Hop::CellWd, plane, &Read::Found(hub.clone()), seen);
            Row { object: String::new(), detail: format!("by the hub; {}", row.detail), ..row }
        }
        _ => of(Hop::CellWd, plane, read, |wd| if wd.is_terminating() { plain(wd, "") } else { seen(wd) }),
    };
    if let Some(down) = chain.clusters().find_map(CellDown::from_cluster) {
        let state = if down.lost { Reason::CellLost.as_str() } else { "CellNotReady" };
        row =
            Row { state: state.to_owned(), since: down.since.parse().ok(), detail: down.to_string(), ..row };
    }
    row
}

/// How many Instances there are, and are Ready.
fn counted(hop: Hop, plane: &str, objects: Option<Vec<&Object>>, read: &Read<Vec<Object>>) -> Row {
    let plane = plane.to_owned();
    let row = |object: String, (state, since, detail): Seen| Row { hop, plane, object, state, since, detail };
    if let Some(error) = read.failure() {
        return row(String::new(), unread(error.failure.into(), &error.message));
    }
    let (Some(objects), Some(_)) = (objects, read.found()) else {
        return row(String::new(), ("NotRead".to_owned(), None, String::new()));
    };
    let ready = objects.iter().filter(|it| is_true(it.status(), "Ready")).count();
    let of_ready = objects.iter().filter_map(|it| condition_turned_at(it, "Ready"));
    let since = of_ready.max();
    let names = objects.iter().map(|it| it.name()).collect::<Vec<_>>().join(", ");
    let count =
        if objects.len() == 1 { "1 Instance".to_owned() } else { format!("{} Instances", objects.len()) };
    row(count, (format!("{ready}/{} Ready", objects.len()), since, names))
}
