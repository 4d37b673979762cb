//! U2, F8: what a pass over a WD comes back for.

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::cells::CellDown;
use fedhub_api::conditions::put;
use fedhub_core::object::set_field;
use fedhub_federator::progress::{Outlook, PATIENCE, Progress, outlook};
use fedhub_planes::{ServiceState, WriteState};
use serde_json::json;

use crate::plan::fixtures::{deleting, in_order, marked, now, shared, status_of, with};
use crate::plan::observed::{Observed, plan};

const ZERO: Duration = Duration::ZERO;

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn down() -> CellDown {
    CellDown { cell: "cell-dfw".to_owned(), since: "2026-01-02T15:04:05Z".to_owned(), lost: false }
}

/// The WD in order, whose condition shows that.
fn told(progress: &Progress) -> Observed {
    let mut status = json!({});
    put(&mut status, progress.condition(None, 7, now()));
    Observed { project: shared(status_of(marked(), status)), ..in_order() }
}

fn is(seen: &Observed, waited: Duration, is_behind: bool) -> Outlook {
    outlook(&seen.snapshot(), waited, PATIENCE, || is_behind)
}

#[test]
fn u2_what_is_not_told_is_due_after_its_time_and_after_the_work() {
    let silent = in_order();
    let dead = Observed { cell_down: Some(down()), ..in_order() };
    for (what, seen, waited, is_behind, expected) in [
        ("at first", &silent, ZERO, false, seconds(5)),
        ("a while", &silent, seconds(2), true, seconds(3)),
        ("long enough", &silent, seconds(5), false, ZERO),
        ("the work goes first", &silent, seconds(5), true, seconds(5)),
        ("the last look", &silent, seconds(58), true, seconds(2)),
        ("for a minute", &silent, seconds(60), true, ZERO),
        ("trouble has its time", &dead, seconds(4), true, seconds(1)),
        ("trouble waits for no work", &dead, seconds(5), true, ZERO),
    ] {
        assert_eq!(is(seen, waited, is_behind), Outlook::Due(expected), "{what}");
    }
}

#[test]
fn u2_what_is_told_is_not_due_again() {
    assert_eq!(is(&told(&Progress::AwaitingCell), seconds(99), false), Outlook::AwaitsReport);
    let dead = Progress::CellUnreachable(down());
    assert_eq!(is(&Observed { cell_down: Some(down()), ..told(&dead) }, ZERO, false), Outlook::Settled);
    assert!(matches!(is(&told(&dead), ZERO, false), Outlook::Due(_)), "it is back");
}

#[test]
fn u2_what_its_status_shows_or_may_not_be_written_is_not_come_back_for() {
    let refused = Observed { cells: 0, ..in_order() };
    let applied = Observed {
        hub: in_order().hub.map(|hub| {
            shared(with(hub.as_ref().clone(), |wd| {
                set_field(wd, "status", json!({"observedGeneration": 7, "replicas": 1}));
            }))
        }),
        ..in_order()
    };
    let leaves = Observed { project: shared(deleting(marked())), ..in_order() };
    let withdrawn = Observed { service: ServiceState::Withdrawn, ..in_order() };
    let doubtful = Observed { service: ServiceState::Unknown, ..in_order() };
    let paused = Observed { writes: WriteState::Paused, ..in_order() };
    let suspended = Observed { writes: WriteState::Suspended, ..in_order() };
    for seen in [refused, applied, leaves, withdrawn, doubtful, paused, suspended] {
        assert_eq!(is(&seen, seconds(99), false), Outlook::Settled, "{seen:?}");
    }
}

#[test]
fn u2_i7_what_is_due_is_written_once() {
    let mut seen = in_order();
    assert_eq!(plan(&seen).status, None, "not before");
    seen.is_due = true;
    let written = plan(&seen).status.unwrap().status;
    let mut wd = seen.project.as_ref().clone();
    set_field(&mut wd, "status", written);
    seen.project = Arc::new(wd);
    assert_eq!(is(&seen, seconds(99), false), Outlook::AwaitsReport);
    assert_eq!(plan(&seen).status, None, "nor again");
}
