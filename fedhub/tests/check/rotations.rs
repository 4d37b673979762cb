//! `fedhub kubeconfig rotate` and Secrets that others write: what such a Secret names decides neither whose
//! token is created nor who is sent it (I14).

use std::fs;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::front::token;
use super::kubeconfigs::{outcomes, run};
use super::planes::Planes;

/// What a Secret says in place of the right thing.
#[derive(Clone, Copy, Default)]
struct Lie {
    /// The `sub` of its token.
    user: Option<&'static str>,
    /// The plane whose server it names.
    server: Option<&'static str>,
    /// The scheme of its server.
    scheme: Option<&'static str>,
    /// More of its cluster.
    cluster: Option<(&'static str, &'static str)>,
}

impl Lie {
    fn user(user: &'static str) -> Self {
        Self { user: Some(user), ..Self::default() }
    }

    fn server(plane: &'static str) -> Self {
        Self { server: Some(plane), ..Self::default() }
    }

    /// A kubeconfig for the server of `plane` with a token of `user` that is due, less what is a lie.
    fn kubeconfig(self, planes: &Planes, plane: &str, user: &str) -> String {
        let content = fs::read_to_string(planes.file(self.server.unwrap_or(plane))).unwrap();
        let mut content: Value = serde_json::from_str(&content).unwrap();
        let since = Timestamp::now() - SignedDuration::from_hours(2);
        let token = token(self.user.unwrap_or(user), since, since + SignedDuration::from_hours(3));
        content["users"][0]["user"]["token"] = json!(token);
        let cluster = &mut content["clusters"][0]["cluster"];
        if let Some(scheme) = self.scheme {
            cluster["server"] = json!(cluster["server"].as_str().unwrap().replacen("https", scheme, 1));
        }
        if let Some((field, value)) = self.cluster {
            cluster[field] = json!(value);
        }
        content.to_string()
    }
}

fn put_in_cell(planes: &Planes, name: &str, content: &str) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "fedhub-cells", "name": name},
        "data": {"kubeconfig": ByteString(content.as_bytes().to_vec())},
    });
    planes.cell.server.put(secret).unwrap();
}

fn in_cell(planes: &Planes, name: &str) -> Value {
    let secret = planes.cell.server.get("Secret", "fedhub-cells", name).unwrap();
    let ByteString(bytes) = serde_json::from_value(secret["data"]["kubeconfig"].clone()).unwrap();
    serde_saphyr::from_str(&String::from_utf8(bytes).unwrap()).unwrap()
}

/// An installation whose cell has its Secrets, and files with administrators' kubeconfigs of all planes.
async fn planes() -> Planes {
    let planes = Planes::bare().await;
    fs::write(planes.file("project-a"), planes.secret_content()).unwrap();
    planes
}

const CELL: &str = "system:serviceaccount:fedhub-cells:cell-dfw";
const QUOTA: &str = "system:serviceaccount:fedhub-cells:fedhub-cell";
const FEDHUB: &str = "system:serviceaccount:fedhub-system:fedhub";
const FOR_CELL: &str =
    "rotate --for=cell --cell-name=cell-dfw --hub-kubeconfig=@hub --cell-kubeconfig=@cell-dfw --json";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_a_cell_that_names_another_account_or_server_gets_no_token() {
    let planes = planes().await;
    let lies = [
        (
            Lie::user(FEDHUB),
            "holds a token of ServiceAccount fedhub-system/fedhub, not of fedhub-cells/cell-dfw",
        ),
        (Lie::user("system:serviceaccount:fedhub-cells:cell-ord"), "ServiceAccount fedhub-cells/cell-ord"),
        (Lie::user("system:serviceaccount:fedhub-cells:cell-dfw/../fedhub"), "ServiceAccount fedhub-cells/"),
        (Lie::user("jane"), "other credentials"),
        (Lie::server("project-a"), "names the server"),
        (Lie { user: Some(FEDHUB), ..Lie::server("project-a") }, "names the server"),
        (Lie { scheme: Some("http"), ..Lie::default() }, "names the server http://"),
    ];
    for (lie, why) in lies {
        let content = lie.kubeconfig(&planes, "hub", CELL);
        put_in_cell(&planes, "fedhub-hub-kubeconfig", &content);
        let rotated = run(&planes, FOR_CELL).await;
        assert_eq!((rotated.code, outcomes(&rotated)), (3, vec![("hub", "failed")]), "{}", rotated.text);
        assert!(rotated.text.contains(why), "{why}: {}", rotated.text);
        assert_eq!(
            in_cell(&planes, "fedhub-hub-kubeconfig"),
            serde_json::from_str::<Value>(&content).unwrap()
        );
        for (name, plane) in [("hub", &planes.hub), ("project-a", &planes.project)] {
            assert_eq!(plane.quirks().asked, Vec::<String>::new(), "{why}: a request to {name}");
        }
    }
    let honest = Lie::default().kubeconfig(&planes, "hub", CELL);
    put_in_cell(&planes, "fedhub-hub-kubeconfig", &honest);
    let rotated = run(&planes, FOR_CELL).await;
    assert_eq!((rotated.code, outcomes(&rotated)), (0, vec![("hub", "replaced")]), "{}", rotated.text);
    let asked = planes.hub.quirks().asked.clone();
    assert_eq!(asked, ["/api/v1/namespaces/fedhub-cells/serviceaccounts/cell-dfw/token", "/version"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_a_new_token_goes_to_a_server_that_the_operator_trusts() {
    let planes = planes().await;
    for lie in [("insecure-skip-tls-verify", "true"), ("tls-server-name", "attacker.example.com")] {
        let content = Lie { cluster: Some(lie), ..Lie::default() }.kubeconfig(&planes, "hub", CELL);
        let content =
            content.replace("\"insecure-skip-tls-verify\":\"true\"", "\"insecure-skip-tls-verify\":true");
        put_in_cell(&planes, "fedhub-hub-kubeconfig", &content);
        let rotated = run(&planes, FOR_CELL).await;
        assert_eq!(outcomes(&rotated), [("hub", "replaced")], "{lie:?}: {}", rotated.text);
        let cluster = in_cell(&planes, "fedhub-hub-kubeconfig")["clusters"][0]["cluster"].clone();
        assert_eq!(cluster[lie.0], Value::Null, "whom to trust is what the context says: {cluster}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_no_purpose_takes_its_account_or_server_from_a_secret() {
    let planes = planes().await;
    let controller = "system:serviceaccount:kube-system:clusterrole-aggregation-controller";
    put_in_cell(
        &planes,
        "fedhub-quota-kubeconfig",
        &Lie::user(controller).kubeconfig(&planes, "management", QUOTA),
    );
    let quota = run(&planes, "rotate --for=quota --cell-kubeconfig=@cell-dfw --json").await;
    assert_eq!(outcomes(&quota), [("management", "failed")], "{}", quota.text);
    assert!(quota.text.contains("not of fedhub-cells/fedhub-cell"), "{}", quota.text);

    for (lie, plane) in [(Lie::user(controller), "project-a"), (Lie::server("hub"), "project-a")] {
        let content = lie.kubeconfig(&planes, plane, FEDHUB);
        planes.put_secret("fedhub-system", "project-a", &content);
        let line = "rotate --for=project --project-kubeconfig=project-a=@project-a --json";
        let rotated = run(&planes, line).await;
        assert_eq!(outcomes(&rotated), [("project-a", "failed")], "{}", rotated.text);
        assert_eq!(planes.secret_content(), content);
    }
    let content = Lie::user(controller).kubeconfig(&planes, "hub", FEDHUB);
    planes.put_secret("fedhub-system", "fedhub-hub-kubeconfig", &content);
    // By itself, too: its token would be of another purpose.
    for line in ["rotate --for=hub --hub-kubeconfig=@hub --json", "rotate --for=hub --json"] {
        let rotated = run(&planes, line).await;
        assert_eq!(outcomes(&rotated), [("hub", "failed")], "{}", rotated.text);
    }
    for (name, plane) in [("hub", &planes.hub), ("project-a", &planes.project)] {
        assert_eq!(plane.quirks().asked, Vec::<String>::new(), "a request to {name}");
    }
    let tokens = planes.management.quirks().asked.iter().filter(|path| path.ends_with("/token")).count();
    assert_eq!(tokens, 0);
    let named = "rotate --for=hub --service-account=kube-system/clusterrole-aggregation-controller --json";
    let rotated = run(&planes, named).await;
    assert_eq!(outcomes(&rotated), [("hub", "replaced")], "where the operator names it: {}", rotated.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_two_secrets_that_name_one_plane_are_refused_both() {
    let planes = planes().await;
    let content = Lie::default().kubeconfig(&planes, "project-a", FEDHUB);
    planes.put_secret("fedhub-system", "project-a", &content);
    let annotation =
        json!({"metadata": {"annotations": {"federation.datumapis.com/plane-name": "project-a"}}});
    planes.put_secret(
        "fedhub-system",
        "another",
        &Lie::server("hub").kubeconfig(&planes, "project-a", FEDHUB),
    );
    planes.management.server.patch("Secret", "fedhub-system", "another", &annotation).unwrap();
    let given = "--for=project --project-kubeconfig=project-a=@project-a --json";
    for line in [format!("rotate {given} --all"), "rotate --for=project --all --json".to_owned()] {
        let rotated = run(&planes, &line).await;
        assert_eq!(
            outcomes(&rotated),
            [("project-a", "failed"), ("project-a", "failed")],
            "{}",
            rotated.text
        );
        assert!(
            rotated.text.contains("2 Secrets name the plane project-a: another, project-a"),
            "{}",
            rotated.text
        );
    }
    let minted = run(&planes, &format!("mint {given} --force")).await;
    assert_eq!(outcomes(&minted), [("project-a", "failed")], "{}", minted.text);
    assert!(minted.text.contains("2 Secrets name the plane project-a"), "{}", minted.text);
    for (name, plane) in [("hub", &planes.hub), ("project-a", &planes.project)] {
        assert_eq!(plane.quirks().asked, Vec::<String>::new(), "a request to {name}");
    }
    assert_eq!(planes.secret_content(), content);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i14_no_token_is_made_for_a_server_that_is_reached_by_plain_http() {
    let planes = planes().await;
    let line = "mint --for=hub --hub-kubeconfig=@hub --server=http://hub.invalid:8080 --print";
    let refused = run(&planes, line).await;
    assert!(refused.code == 3 && refused.text.contains("--insecure-http"), "{}", refused.text);
    assert_eq!(planes.hub.quirks().asked, Vec::<String>::new());

    let content = fs::read_to_string(planes.file("hub")).unwrap();
    let (_, rest) = content.split_once("https://127.0.0.1").unwrap();
    let plain = content.replace(&format!("https://127.0.0.1{rest}"), &format!("http://hub.invalid{rest}"));
    fs::write(planes.file("plain"), &plain).unwrap();
    let given = run(&planes, "mint --for=hub --hub-kubeconfig=@plain --print").await;
    assert!(given.code == 3 && given.text.contains("plain HTTP"), "{}", given.text);
    planes.put_secret("fedhub-system", "project-a", &plain);
    let checked = planes.check(&["--json", "--timeout=30s"]).await;
    let [state, found, _] = checked.of("kubeconfig", "project-a").unwrap();
    assert!(state == "failed" && found.contains("http://hub.invalid"), "{found}");

    let insisted = run(&planes, &format!("{line} --insecure-http")).await;
    assert_eq!(insisted.code, 0, "{}", insisted.text);
    assert!(insisted.text.contains("server: http://hub.invalid:8080"), "{}", insisted.text);
}
