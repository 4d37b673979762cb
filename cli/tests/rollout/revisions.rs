//! W10: the revisions that the platform records, as they are shown.

use fedhub_cli::rollout::history::table;
use fedhub_cli::rollout::revision::{Template, current, has_earlier, revisions};
use fedhub_cli::view::Look;
use fedhub_terminal::Terminal;
use jiff::Timestamp;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use crate::rollout::fixtures::*;
use crate::support::Platform;

#[test]
fn w10_a_history_is_listed_with_what_changed_and_by_whom() {
    let mut third = entry(3, &template("web:3"));
    let mut first = entry(1, &template("web:1"));
    third["image"] = json!("registry.example.com/teams/shop/web:3");
    first["changes"] = json!("created");
    first["timestamp"] = json!("2025-12-01T00:00:00Z");
    let history = history(&[(3, third), (1, first), (2, entry(2, &template("web:2")))]);
    let revisions = revisions(&history);
    let now: Timestamp = "2026-01-01T00:03:00Z".parse().unwrap();
    let shown = |width, no_headers| {
        let terminal = Terminal { width, ..Terminal::default() };
        table(&revisions, Some(3), now, &Look { no_headers, terminal, ..Look::default() })
    };
    for width in [60, 80, 120] {
        let table = shown(Some(width), false);
        assert!(table.lines().all(|line| line.width() <= width), "{table}");
        insta::assert_snapshot!(format!("history_{width}"), table);
    }
    insta::assert_snapshot!("history", shown(None, true));
}

/// CHANGES has the paths of `deploy` and `rollout undo`; a restart is one, whatever else changes with it.
#[test]
fn w10_a_restart_is_said_and_fields_have_the_paths_of_a_deployment() {
    let restarted = |image: &str, at: &str| {
        let mut template = template(image);
        template["metadata"] = json!({"annotations": {"compute.datumapis.com/restartedAt": at}});
        template
    };
    let first = "2026-01-01T00:00:00Z";
    let second = "2026-01-02T00:00:00Z";
    let templates = [
        template("web:1"),
        restarted("web:1", first),
        restarted("web:2", second),
        template("web:2"),
        template("web:3"),
    ];
    let entries = (1..).zip(&templates).map(|(revision, template)| (revision, entry(revision, template)));
    let mut entries: Vec<_> = entries.collect();
    // What was between the last two is not kept.
    entries[4] = (9, entry(9, &templates[4]));
    let table = table(&revisions(&history(&entries)), None, Timestamp::UNIX_EPOCH, &Look::default());
    let image = "spec.template.spec.runtime.sandbox.containers[app].image";
    let recorded = "spec.runtime.sandbox.containers[0].image";
    let expected = [recorded, recorded, &format!("restart, {image}"), "restart", recorded];
    for (line, expected) in table.lines().skip(1).zip(expected) {
        assert!(line.contains(&format!("   {expected}   ")), "{expected}: {line}");
    }
}

/// Whether there is a way back is known without the history.
#[test]
fn w10_the_first_revision_has_none_before_it() {
    let now = || workload(&["DFW"], "web:2");
    let mut newer = recorded(now(), 1);
    newer.data["spec"]["template"] = template("web:3");
    let mut foreign = recorded(now(), 1);
    foreign.metadata.annotations.as_mut().unwrap().remove("federation.datumapis.com/recorded-template");
    for (workload, expected) in [
        (now(), false),
        (recorded(now(), 1), false),
        (foreign, false),
        (newer, true),
        (recorded(now(), 2), true),
    ] {
        assert_eq!(has_earlier(&workload), expected, "{:?}", workload.metadata.annotations);
    }
}

#[test]
fn w10_what_cannot_be_read_is_shown_and_not_restored() {
    let mut large = entry(1, &template("a"));
    let mut edited = entry(2, &template("b"));
    let mut other = entry(3, &template("c"));
    large["spec"] = json!("");
    edited["spec"] = json!(json!({"template": template("another")}).to_string());
    other["templateHash"] = json!("");
    let mut history = history(&[(1, large), (2, edited), (3, other)]);
    for (key, value) in [("4", "{broken"), ("5", "[]"), ("6", r#"{"spec":"{}"}"#), ("README", "mine")] {
        history.data["data"][key] = json!(value);
    }
    let revisions = revisions(&history);
    let templates: Vec<_> = revisions.iter().map(|it| (it.number, it.template.clone())).collect();
    assert_eq!(
        templates,
        [
            (1, Template::NotKept),
            (2, Template::Damaged),
            (3, Template::Kept(template("c"))),
            (4, Template::Damaged),
            (5, Template::Damaged),
            (6, Template::Damaged),
        ]
    );
}

#[test]
fn w10_the_current_revision_is_the_one_that_has_the_present_template() {
    let listed = revisions(&history(&[(1, entry(1, &template("web:1"))), (2, entry(2, &template("web:2")))]));
    let now = workload(&["DFW"], "web:2");
    assert_eq!(current(&now, &listed), None, "nothing says so");
    assert_eq!(current(&recorded(now.clone(), 2), &listed), Some(2));
    // The template is newer than what was recorded.
    let mut edited = recorded(now.clone(), 2);
    edited.data["spec"]["template"] = template("web:3");
    assert_eq!(current(&edited, &listed), None);
    // Another controller records without our annotation.
    let mut other = recorded(now, 2);
    other.metadata.annotations.as_mut().unwrap().remove("federation.datumapis.com/recorded-template");
    assert_eq!(current(&other, &listed), Some(2));
}

/// Whoever may write the history may not write the screen.
#[test]
fn an_entry_of_a_history_is_one_row_without_colours_of_its_own() {
    let mut entry = entry(1, &template("web:1"));
    entry["image"] = "\u{1b}[31mweb:1".into();
    entry["actor"] = "me\n2   1m   web:2".into();
    entry["changes"] = "\u{1b}]52;c;eA==\u{7}\n3   1m   web:3".into();
    let revisions = revisions(&history(&[(1, entry)]));
    let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
    let table = table(&revisions, None, now, &Look::default());
    assert_eq!(table.lines().count(), 2, "{table}");
    assert!(!table.contains(['\u{1b}', '\u{7}']), "{table}");
    for shown in ["\\u{1b}[31mweb:1", "me\\u{a}2", "\\u{1b}]52;c;eA==\\u{7}\\u{a}3"] {
        assert!(table.contains(shown), "{shown}: {table}");
    }
}

/// What a revision holds steers no terminal, in whatever format, and programs get it as it was recorded.
#[tokio::test(flavor = "multi_thread")]
async fn i15_w10_a_revision_steers_no_terminal() {
    let platform = Platform::start().await;
    let enabled = fedhub_testing::condition("Ready", "True", "EntitlementActive", "");
    platform.entitle(&json!({ "phase": "Active", "conditions": [enabled] }));
    platform.workload(NAME, &[]);
    let image = "web:1\u{202e}\u{9b}2J";
    let mut recorded = entry(1, &template(image));
    for field in ["image", "changes", "actor"] {
        recorded[field] = json!(image);
    }
    platform.plane.put(serde_json::to_value(history(&[(1, recorded)])).unwrap()).unwrap();
    for more in [
        [].as_slice(),
        &["-o", "json"],
        &["-o", "yaml"],
        &["--revision", "1"],
        &["--revision", "1", "-o", "json"],
    ] {
        let run = platform.run(&[["rollout", "history", NAME].as_slice(), more].concat()).await;
        assert_eq!(run.code, 0, "{more:?} {run:?}");
        assert!(run.out.contains("202e") && !run.out.contains(['\u{202e}', '\u{9b}']), "{more:?} {run:?}");
        if more.contains(&"--revision") {
            let read: Value = serde_saphyr::from_str(&run.out).unwrap();
            assert_eq!(read["spec"]["runtime"]["sandbox"]["containers"][0]["image"], image, "{run:?}");
        }
    }
}
