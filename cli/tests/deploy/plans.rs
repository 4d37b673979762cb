//! What is shown, asked and saved.

use fedhub_cli::deploy::consent::{Consent, needed};
use fedhub_cli::deploy::save::{Saving, content, decide, write};
use fedhub_cli::deploy::view;
use serde_json::json;

use super::fixtures::{object, plan, web};

#[test]
fn the_user_sees_what_changes_and_never_the_value_of_a_variable() {
    let shown = |words: &[&str], exists: bool| {
        let existing = exists.then(web);
        view::plan(&plan(words, existing.as_ref()).unwrap())
    };
    let changed = shown(&["--env=TOKEN=s3cret", "--city=DFW"], true);
    let expected = [
        "web changes:",
        r#"  ~ spec.placements[america].cityCodes: ["DFW", "ORD"] -> ["DFW"]"#,
        "  + spec.template.spec.runtime.sandbox.containers[app].env[TOKEN].value",
        "  - spec.template.spec.runtime.sandbox.containers[app].env[TOKEN].valueFrom",
        "Its instances are replaced, one after the other in each city.",
        "web leaves ORD (placement america): its instances there are deleted.",
    ];
    assert_eq!(changed, expected);
    let new =
        shown(&["--image=a.b/c:1", "--city=DFW,ORD", "--max=5", "--cpu-percent=70", "--env=T=s3cret"], false);
    assert_eq!(new, ["web is new:", "  image a.b/c:1", "  DFW, ORD: 1 to 5 instances in each city"]);
    assert_eq!(shown(&["--image=a.b/c:1", "--city=DFW"], false)[2], "  DFW: 1 instance");
    assert_eq!(shown(&["--min=1"], true), ["web: nothing changes"]);
    assert_eq!(shown(&["--min=2"], true).len(), 2, "no instance is replaced");
}

#[test]
fn nobody_is_asked_where_nobody_can_answer() {
    let of = |words: &[&str], yes: bool, can_ask: bool| {
        needed(&[plan(words, Some(&web())).unwrap()], yes, can_ask)
    };
    let min = &["--min=2"];
    let less = &["--city=DFW"];
    assert_eq!(of(&["--min=1"], false, true), Consent::Given, "nothing changes");
    assert_eq!(of(min, true, true), Consent::Given);
    assert_eq!(of(min, false, true), Consent::Ask("Deploy this?", true));
    assert_eq!(of(less, false, true), Consent::Ask("Deploy this, and delete those instances?", false));
    assert_eq!(of(min, false, false), Consent::Given);
    let what = "web leaves ORD (placement america): its instances there are deleted.";
    assert_eq!(of(less, false, false), Consent::Needed(what.to_owned()));
    assert_eq!(of(less, true, false), Consent::Given);
}

/// A file may be written by hand. What is saved has nothing that the server added.
#[test]
fn a_file_that_says_something_else_is_not_replaced_without_a_word() {
    for (content, can_ask, expected) in [
        (Some("before"), false, Saving::Replace),
        (Some("before"), true, Saving::Replace),
        (None, false, Saving::Write),
        (Some("a"), false, Saving::Same),
        (Some("a"), true, Saving::Same),
        (Some("b"), true, Saving::Ask),
        (Some("b"), false, Saving::Keep),
        (Some(""), false, Saving::Keep),
    ] {
        assert_eq!(decide(content, "a", Some("before"), can_ask), expected, "{content:?} {can_ask}");
    }
    let mut stored = web();
    stored["metadata"]["uid"] = json!("u");
    stored["status"] = json!({"replicas": 1});
    let saved = content(&object(&stored));
    assert_eq!(saved["metadata"], json!({"name": "web", "labels": {"team": "shop"}}));
    assert_eq!((&saved["spec"], saved.get("status")), (&stored["spec"], None));
}

/// Values of variables may be secrets, and a disk may be full.
#[cfg(unix)]
#[test]
fn a_file_is_replaced_as_a_whole_and_is_its_users_alone() {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.yaml");
    let link = folder.path().join("link.yaml");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    symlink("web.yaml", &link).unwrap();
    let before = fs::metadata(&path).unwrap().ino();
    write(&path, "new", false).unwrap_err();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    write(&link, "new", true).unwrap();
    let after = fs::metadata(&path).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "a link stays one");
    assert_eq!((fs::read_to_string(&path).unwrap(), after.mode() & 0o777), ("new".to_owned(), 0o600));
    assert_ne!(before, after.ino(), "what was there is never half written");
    write(&folder.path().join("new.yaml"), "new", false).unwrap();
    assert_eq!(fs::metadata(folder.path().join("new.yaml")).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left beside them");
    // What is no file is not replaced by one.
    write(folder.path(), "new", true).unwrap_err();
}
