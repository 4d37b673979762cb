//! Completion of names from the project, stray words, and hints.

use std::ffi::OsString;

use fedhub_cli::args;
use fedhub_cli::host::program::Program;
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::reading::plane::Plane;
use crate::reading::support::{instance, ready, workload};

#[tokio::test]
async fn names_are_completed_from_the_project() {
    let plane = Plane::with([
        workload("web", &["DFW", "ORD"], json!({})),
        workload("api", &["AMS"], json!({})),
        instance("web", "DFW", 0, ready()),
    ])
    .await;
    for (words, expected) in [
        ("workloads describe w", "web\n:4\n"),
        ("instances describe w", "web-us-dfw-0\n:4\n"),
        ("instances --workload a", "api\n:4\n"),
        ("instances --city ''", "AMS\nDFW\nORD\n:4\n"),
        ("instances --city DFW,O", "DFW,ORD\n:4\n"),
        ("events a", "api\n:4\n"),
    ] {
        assert_eq!(plane.complete(words).await, expected, "{words}");
    }
    assert!(plane.complete("explain ''").await.starts_with("api\nweb\n"));
    plane.server.fault(Fault::Status(403));
    assert_eq!(plane.complete("explain w").await, ":4\n", "a shell has no place for errors");
}

/// A change is said by the same path, whichever command makes it; what comes to nothing says so.
#[tokio::test]
async fn what_a_command_changes_or_does_not_find_is_said() {
    let plane = Plane::with([workload("web", &["DFW"], json!({}))]).await;
    for (line, words) in [
        (
            "scale web --min 3 --no-wait",
            "web changes:\n  ~ spec.placements[us].scaleSettings.minReplicas: 1 -> 3\n",
        ),
        ("deploy web --image x --dry-run=client", "\nNothing was changed: --dry-run.\n"),
        ("events", "There are no events; the platform keeps them"),
        ("events web", "There are no events of \"web\"; the platform keeps them"),
        ("events web --warnings", "There are no such events; the platform keeps them"),
    ] {
        let ended = plane.run(line).await;
        let said = format!("\n{}", ended.err);
        assert!(ended.code == 0 && said.contains(words), "{line}: {ended:?}");
    }
}

#[tokio::test]
async fn stray_words_are_refused_and_hints_name_commands_that_there_are() {
    let plane = Plane::with([workload("web", &["DFW"], json!({}))]).await;
    for line in
        ["workloads web", "instances web", "quota web", "cities DFW", "explain web api", "events web api"]
    {
        let ended = plane.run(line).await;
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{line}: {ended:?}");
    }
    let mut hints = 0;
    for line in ["status nope", "explain web", "status", "events nope"] {
        let ended = plane.run(line).await;
        for hint in ended.err.split('`').skip(1).step_by(2).filter(|hint| hint.contains("compute")) {
            let words = hint.split_whitespace().skip_while(|word| !word.ends_with("compute")).skip(1);
            let words: Vec<OsString> = words.map(OsString::from).collect();
            assert!(args::parse(Program::Datumctl, &words).is_ok(), "{line}: {hint}");
            hints += 1;
        }
    }
    assert!(hints > 0, "hints are found");
}
