//! `fedhub kubeconfig`: what it stores, what it renews, and what it leaves alone.

use std::fs;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::front::{MADE, token};
use super::planes::{Checked, Planes};

const FEDHUB: &str = "system:serviceaccount:fedhub-system:fedhub";

/// An installation whose project plane has no Secret, and a file with an administrator's kubeconfig of it.
async fn planes() -> Planes {
    let planes = Planes::bare().await;
    fs::write(planes.file("project-a"), planes.secret_content()).unwrap();
    assert!(planes.management.server.delete("Secret", "fedhub-system", "project-a").unwrap());
    planes
}

pub async fn run(planes: &Planes, line: &str) -> Checked {
    let management = format!("--management-kubeconfig={}", planes.file("management").display());
    let words = line.split(' ').map(|word| match word.split_once('@') {
        Some((before, name)) => format!("{before}{}", planes.file(name).display()),
        None => word.to_owned(),
    });
    let checked = planes
        .command(["kubeconfig".to_owned()].into_iter().chain(words).chain([management]).collect())
        .await;
    assert!(!checked.text.contains(MADE) || line.contains("--print"), "a token: {}", checked.text);
    checked
}

pub fn outcomes(checked: &Checked) -> Vec<(&str, &str)> {
    let lines = checked.json["kubeconfigs"].as_array().unwrap();
    let mut all: Vec<_> = lines
        .iter()
        .map(|line| (line["plane"].as_str().unwrap(), line["result"].as_str().unwrap()))
        .collect();
    all.sort_unstable();
    all
}

/// The token in the Secret of a plane.
fn stored(planes: &Planes, secret: &str) -> String {
    let content: Value = serde_saphyr::from_str(&planes.content(secret)).unwrap();
    let users = content["users"].as_array().unwrap();
    users[0]["user"]["token"].as_str().unwrap().to_owned()
}

const MINT: &str = "mint --for=project --project-kubeconfig=project-a=@project-a --json";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_a_secret_is_minted_as_discovery_reads_it() {
    let planes = planes().await;
    let dry = run(&planes, &format!("{MINT} --dry-run")).await;
    assert_eq!((dry.code, outcomes(&dry)), (0, vec![("project-a", "would-create")]), "{}", dry.text);
    assert!(planes.management.server.get("Secret", "fedhub-system", "plane-project-a").is_none());

    let minted = run(&planes, MINT).await;
    assert_eq!((minted.code, outcomes(&minted)), (0, vec![("project-a", "created")]), "{}", minted.text);
    let secret = planes.management.server.get("Secret", "fedhub-system", "plane-project-a").unwrap();
    assert_eq!(secret["metadata"]["labels"]["federation.datumapis.com/plane"], "project");
    assert_eq!(secret["metadata"]["annotations"]["federation.datumapis.com/plane-name"], "project-a");
    let listed = planes
        .command(vec![
            "planes".to_owned(),
            "--json".to_owned(),
            format!("--management-kubeconfig={}", planes.file("management").display()),
        ])
        .await;
    assert_eq!(listed.code, 0, "fedhub reads it: {}", listed.text);

    // Again, by the name that the Secret has, whatever that is.
    planes.put_secret("fedhub-system", "project-b", &planes.content("plane-project-a"));
    let again = run(&planes, &MINT.replace("=project-a=", "=project-b=")).await;
    assert_eq!(outcomes(&again), [("project-b", "replaced")], "{}", again.text);
    assert_eq!(again.json["kubeconfigs"][0]["secret"], "fedhub-system/project-b");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_what_is_not_its_own_and_what_does_not_work_is_not_stored() {
    let planes = planes().await;
    planes.put_secret("fedhub-system", "project-a", "nonsense: [");
    let refused = run(&planes, MINT).await;
    assert_eq!((refused.code, outcomes(&refused)), (3, vec![("project-a", "failed")]), "{}", refused.text);
    assert_eq!(planes.secret_content(), "nonsense: [");
    planes.project.quirks().refused = Some(MADE);
    let deaf = run(&planes, &format!("{MINT} --force")).await;
    assert!(deaf.code == 3 && deaf.text.contains("does not accept the new token"), "{}", deaf.text);
    assert_eq!(planes.secret_content(), "nonsense: [");
    planes.project.quirks().refused = None;
    let forced = run(&planes, &format!("{MINT} --force")).await;
    assert_eq!((forced.code, outcomes(&forced)), (0, vec![("project-a", "replaced")]), "{}", forced.text);
    assert!(stored(&planes, "project-a").starts_with(MADE));
    let printed = run(&planes, "mint --for=hub --hub-kubeconfig=@hub --print").await;
    assert!(printed.code == 0 && printed.text.starts_with("apiVersion: v1\n"), "{}", printed.text);
}

/// A Secret of a project plane, whose token began so many hours ago and lasts for three hours.
fn put(planes: &Planes, name: &str, began: i64) -> String {
    let mut content: Value =
        serde_json::from_str(&fs::read_to_string(planes.file("project-a")).unwrap()).unwrap();
    let since = Timestamp::now() - SignedDuration::from_mins(began * 60);
    let token = token(FEDHUB, since, since + SignedDuration::from_hours(3));
    content["users"][0]["user"]["token"] = json!(token);
    planes.put_secret("fedhub-system", name, &content.to_string());
    token
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_tokens_in_their_last_third_are_renewed_whatever_becomes_of_the_others() {
    let planes = planes().await;
    let fresh = put(&planes, "fresh", 1);
    put(&planes, "due", 2);
    put(&planes, "over", 4);
    put(&planes, "given", 4);
    planes.put_secret("fedhub-system", "broken", "nonsense: [");
    planes.project.quirks().longest = Some(7200);
    let line = "rotate --for=project --project-kubeconfig=given=@project-a --json";
    let rotated = run(&planes, line).await;
    let expected = [
        ("broken", "failed"),
        ("due", "replaced"),
        ("fresh", "kept"),
        ("given", "replaced"),
        ("over", "failed"),
    ];
    assert_eq!((rotated.code, outcomes(&rotated)), (3, expected.to_vec()), "{}", rotated.text);
    let due = rotated.json["kubeconfigs"].as_array().unwrap().iter().find(|it| it["plane"] == "due").unwrap();
    assert!(due["warning"].as_str().unwrap().contains("shortened the token's life to"), "{due}");
    assert_eq!(stored(&planes, "fresh"), fresh);

    let all = run(&planes, "rotate --for=project --plane=fresh --plane=nowhere --all --json").await;
    assert_eq!(
        (all.code, outcomes(&all)),
        (3, vec![("fresh", "replaced"), ("nowhere", "failed")]),
        "{}",
        all.text
    );
    assert_ne!(stored(&planes, "fresh"), fresh);
    let kept = run(&planes, "rotate --for=project --plane=due --json").await;
    assert_eq!((kept.code, outcomes(&kept)), (0, vec![("due", "kept")]), "{}", kept.text);
}
