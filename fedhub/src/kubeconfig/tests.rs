//! What may be overwritten, what is due, and what is written.

use fedhub_core::names::PlaneName;
use fedhub_core::object::Object;
use fedhub_planes::discovery::credentials::from_secret;
use fedhub_testing::{Messages, assert_messages};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::plan::{self, Held, Wanted, Write};
use super::purpose::{Account, Purpose};
use super::render;
use super::report::{Kubeconfigs, Line, Outcome};
use fedhub_terminal::output::Format;
use fedhub_terminal::report::Report;

const SERVER: &str = "https://project-a.example.com:6443";
const FEDHUB: &str = "system:serviceaccount:fedhub-system:fedhub";

/// A token of a user, from one second to another of 2026-01-01.
fn token(user: &str, from: i64, to: i64) -> String {
    let start = 1_767_225_600;
    let claims = json!({"sub": user, "iat": start + from, "exp": start + to}).to_string();
    let ByteString(bytes) = ByteString(claims.into_bytes());
    let coded = serde_json::to_value(ByteString(bytes)).unwrap();
    let coded = coded.as_str().unwrap().replace('+', "-").replace('/', "_");
    format!("e30.{}.c2ln", coded.trim_end_matches('='))
}

fn kubeconfig(server: &str, user: &Value) -> String {
    json!({
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, "tls-server-name": "kept"}}],
        "users": [{"name": "other", "user": {}}, {"name": "u", "user": user}],
    })
    .to_string()
}

fn secret(content: &str) -> Object {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "namespace": "fedhub-system", "name": "plane-project-a", "resourceVersion": "7",
            "labels": {"federation.datumapis.com/plane": "project"},
            "annotations": {"federation.datumapis.com/plane-name": "project-a"},
        },
        "data": {"kubeconfig": ByteString(content.as_bytes().to_vec())},
    });
    serde_json::from_value(secret).unwrap()
}

fn ours() -> String {
    kubeconfig(SERVER, &json!({"token": token(FEDHUB, 0, 300)}))
}

fn wanted() -> Wanted {
    Wanted {
        server: SERVER.to_owned(),
        account: Purpose::Project.account(""),
        plane: PlaneName::new("project-a").ok(),
    }
}

#[test]
fn a_secret_is_overwritten_where_it_is_an_earlier_one() {
    let edited = |edit: fn(&mut Object)| {
        let mut secret = secret(&ours());
        edit(&mut secret);
        secret
    };
    let with = |server: &str, user: Value| secret(&kubeconfig(server, &user));
    let certificate = json!({"client-certificate-data": "aGk=", "client-key-data": "aGk="});
    for (existing, refused) in [
        (None, None),
        (Some(secret(&ours())), None),
        (Some(with(&format!("{SERVER}/"), json!({"token": token(FEDHUB, 0, 1)}))), None),
        (
            Some(with("https://other.example.com", json!({"token": token(FEDHUB, 0, 1)}))),
            Some("names the server"),
        ),
        (
            Some(with(SERVER, json!({"token": token("system:serviceaccount:a:b", 0, 1)}))),
            Some("ServiceAccount a/b"),
        ),
        (Some(with(SERVER, json!({"token": token("jane", 0, 1)}))), Some("other credentials")),
        (Some(with(SERVER, json!({"token": "opaque"}))), Some("other credentials")),
        (Some(with(SERVER, certificate)), Some("other credentials")),
        (Some(secret("nonsense: [")), Some("holds no kubeconfig")),
        (Some(edited(|it| it.data = json!({}))), Some("holds no kubeconfig")),
        (Some(edited(|it| it.metadata.labels = None)), Some("lacks the label")),
        (Some(edited(|it| it.metadata.annotations = None)), Some("stands for plane \"plane-project-a\"")),
    ] {
        let write = existing.as_ref().map_or(Write::Create, |_| Write::Replace("7".to_owned()));
        let planned = plan::mint(existing.as_ref(), &wanted(), false);
        match refused {
            Some(why) => assert!(planned.as_ref().is_err_and(|it| it.contains(why)), "{why}: {planned:?}"),
            None => assert_eq!(planned.as_ref(), Ok(&write)),
        }
        assert_eq!(plan::mint(existing.as_ref(), &wanted(), true), Ok(write), "{refused:?}");
    }
    let leaving = edited(|it| it.metadata.deletion_timestamp = Some(Timestamp::UNIX_EPOCH.into()));
    assert!(plan::mint(Some(&leaving), &wanted(), true).is_err());
}

#[test]
fn a_token_is_renewed_in_its_last_third_and_only_of_a_service_account() {
    let due = |user: &Value, by_itself: bool, second: i64, all: bool| {
        let now = Timestamp::from_second(1_767_225_600 + second).unwrap();
        let held = Held::from_secret(&secret(&kubeconfig(SERVER, user))).unwrap();
        plan::rotate(&held, &Purpose::Project.account(""), (!by_itself).then_some(SERVER), now, all)
    };
    let fedhub = json!({"token": token(FEDHUB, 0, 300)});
    for (by_itself, second, all, expected) in [
        (true, 0, false, Some(false)),
        (true, 199, false, Some(false)),
        (true, 201, false, Some(true)),
        (true, 0, true, Some(true)),
        (true, 300, false, None),
        (true, 300, true, None),
        (false, 300, false, Some(true)),
    ] {
        assert_eq!(due(&fedhub, by_itself, second, all).ok(), expected, "{by_itself} {second} {all}");
    }
    for user in [json!({"token": "opaque"}), json!({"token": token("jane", 0, 300)}), json!({})] {
        assert!(due(&user, false, 299, true).is_err(), "{user}");
    }
}

#[test]
fn a_kubeconfig_holds_the_token_and_nothing_else_of_the_administrator() {
    let account = Account::parse("fedhub-system/fedhub").unwrap();
    let mut admin = from_secret(&kubeconfig(SERVER, &json!({"token": "administrator"}))).unwrap();
    admin.root_cert = Some(vec![vec![1; 100], vec![2; 3]]);
    let content = render::kubeconfig(SERVER, &admin, &account, &token(FEDHUB, 0, 300)).unwrap();
    assert!(!content.contains("administrator"), "{content}");
    assert_messages!("kubeconfig", Messages::default().section("Kubeconfig", [("minted", content)]));
    admin.accept_invalid_certs = true;
    assert!(render::kubeconfig(SERVER, &admin, &account, "t").is_err(), "a token for anybody");
}

#[test]
fn rotation_exchanges_the_token_of_the_context_and_keeps_the_rest() {
    let renewed = token(FEDHUB, 200, 500);
    let content = render::with_token(&ours(), &renewed).unwrap();
    let before = ours();
    let after = serde_saphyr::from_str::<Value>(&content).unwrap();
    let mut expected: Value = serde_json::from_str(&before).unwrap();
    expected["users"][1]["user"]["token"] = renewed.into();
    assert_eq!(after, expected);
    let held = Held::from_secret(&secret(&content)).unwrap();
    assert_eq!(held.account, Account::of_user(FEDHUB));
    assert_eq!(held.end.unwrap().at.unwrap().to_string(), "2026-01-01T00:08:20Z");
    for broken in ["a: 1", "nonsense: [", &ours().replace("\"name\":\"u\"", "\"name\":\"v\"")] {
        assert!(render::with_token(broken, "t").is_err(), "{broken}");
    }
}

fn report() -> Kubeconfigs {
    let line = |plane: &str, outcome: Outcome| Line {
        purpose: Purpose::Project,
        plane: plane.to_owned(),
        secret: format!("fedhub-system/plane-{plane}"),
        account: Some(Purpose::Project.account("")),
        server: format!("https://{plane}.example.com:6443"),
        expires: "2026-04-01T00:00:00Z".parse().ok(),
        outcome,
        warning: None,
    };
    let shortened = "the server shortened the token's life to 24 h: rotate at least every 8 h";
    Kubeconfigs::from_lines(vec![
        line("project-c", Outcome::Kept),
        line("project-b", Outcome::Failed("no answer within 10 s".to_owned())),
        Line { warning: Some(shortened.to_owned()), ..line("project-a", Outcome::Replaced) },
        line("project-d", Outcome::Created),
        line("project-e", Outcome::WouldCreate),
    ])
}

#[test]
fn the_report_reads_well() {
    assert!(!report().is_in_order());
    let formats = [("table", Format::Table), ("wide", Format::Wide), ("json", Format::Json)];
    let shown = formats.map(|(name, format)| (name, report().print(format, false)));
    assert_messages!("kubeconfig-report", Messages::default().section("Report", shown));
}
