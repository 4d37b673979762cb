//! The webhook configurations of `deploy/` ask for what the program answers.

use fedhub_planes::discovery::Discovery;
use serde_json::Value;

use super::deployments::deployment;
use super::kustomize::overlay;
use super::{Overlay, strings};
use fedhub::webhooks::{ANSWERS_WITHIN, Route};

/// The webhooks of a kustomization.
fn webhooks(objects: &[Value]) -> Vec<Value> {
    let lists = objects.iter().filter_map(|object| object["webhooks"].as_array());
    lists.flatten().cloned().collect()
}

/// Every webhook has a path that the program answers, fails closed, and waits longer than the program takes.
#[test]
fn w4_project_planes_ask_for_what_is_answered() {
    let webhooks = webhooks(&overlay("components/webhooks-project-plane", &[]));
    for webhook in &webhooks {
        let url: http::Uri = webhook["clientConfig"]["url"].as_str().unwrap().parse().unwrap();
        let route = Route::from_path(&url.path().replace("PLANE", "a"), Discovery::Kubeconfigs);
        let route = route.unwrap();
        let kind = route.kind.name().to_lowercase();
        let scale = if route.is_scale { "/scale" } else { "" };
        assert_eq!(strings(&webhook["rules"][0]["resources"]), [format!("{kind}s{scale}")]);
        assert_eq!((&webhook["failurePolicy"], &webhook["sideEffects"]), (&"Fail".into(), &"None".into()));
        let waits = webhook["timeoutSeconds"].as_u64().unwrap();
        assert!(ANSWERS_WITHIN.as_secs() < waits, "{webhook}");
    }
    assert_eq!(webhooks.len(), 7);
}

/// On a Milo's root server the same is asked, without a plane in paths, and fedhub is a user.
#[test]
fn w4_a_milo_asks_for_the_same_and_exempts_its_user() {
    let objects = overlay("components/webhooks-milo", &[]);
    let theirs = overlay("components/webhooks-project-plane", &[]);
    let binding = objects.iter().find(|object| object["kind"] == "ClusterRoleBinding").unwrap();
    assert_eq!(
        (&binding["subjects"][0]["kind"], &binding["subjects"][0]["name"]),
        (&"User".into(), &"fedhub".into())
    );
    let mut exempt = 0;
    for (mut milo, their) in webhooks(&objects).into_iter().zip(webhooks(&theirs)) {
        let their_url = their["clientConfig"]["url"].as_str().unwrap();
        let url = milo["clientConfig"]["url"].as_str().unwrap().to_owned();
        assert_eq!(url, their_url.replace("/planes/PLANE", ""));
        let path = url.parse::<http::Uri>().unwrap().path().to_owned();
        assert!(Route::from_path(&path, Discovery::Milo).is_ok(), "{path}");
        milo["clientConfig"]["url"] = their["clientConfig"]["url"].clone();
        for condition in milo["matchConditions"].as_array_mut().unwrap() {
            if condition["name"] == "is-not-fedhub" {
                assert_eq!(condition["expression"], "request.userInfo.username != 'fedhub'");
                exempt += 1;
                let own = "request.userInfo.username != 'system:serviceaccount:fedhub-system:fedhub'";
                condition["expression"] = own.into();
            }
        }
        assert_eq!(milo, their);
    }
    assert_eq!(exempt, 1);
}

/// Where the catalogue is, types are reviewed as on a project plane; no plane is in the path.
#[test]
fn w4_w8_the_source_of_the_catalogue_asks_for_what_is_answered() {
    let own = webhooks(&overlay("components/webhooks-instance-types", &[]));
    let theirs = webhooks(&overlay("components/webhooks-project-plane", &[]));
    let [mut own] = <[Value; 1]>::try_from(own).unwrap();
    let mut their = theirs.into_iter().find(|it| it["name"] == own["name"]).unwrap();
    let url: http::Uri = own["clientConfig"].take()["url"].as_str().unwrap().parse().unwrap();
    their["clientConfig"].take();
    assert_eq!(own, their);
    let route = Route::from_path(url.path(), Discovery::Kubeconfigs).unwrap();
    assert_eq!((route.kind.name(), route.plane), ("InstanceType", None));
}

/// In its own cluster the same is asked by fedhub's Service, with the CA of its Certificate.
#[test]
fn w4_fedhub_s_own_cluster_asks_its_service_for_the_same() {
    let own = overlay("components/webhooks-own-cluster", &[]);
    let (_, served) = deployment(&Overlay::new("base", &["webhooks", "webhooks-cert-manager"]));
    let is_served = |kind: &str, namespace: &Value, name: &Value| {
        served
            .iter()
            .find(|it| {
                it["kind"] == kind
                    && it["metadata"]["namespace"] == *namespace
                    && it["metadata"]["name"] == *name
            })
            .cloned()
            .unwrap_or_else(|| panic!("no {kind} {namespace}/{name}"))
    };
    for object in own.iter().filter(|object| object["webhooks"].is_array()) {
        let injected = object["metadata"]["annotations"]["cert-manager.io/inject-ca-from"].as_str().unwrap();
        let (namespace, name) = injected.split_once('/').unwrap();
        is_served("Certificate", &namespace.into(), &name.into());
    }
    let theirs = overlay("components/webhooks-project-plane", &[]);
    let pairs = webhooks(&own).into_iter().zip(webhooks(&theirs));
    for (mut own, mut their) in pairs {
        let client = own["clientConfig"].take();
        let url: http::Uri = their["clientConfig"].take()["url"].as_str().unwrap().parse().unwrap();
        assert_eq!(own, their);
        let path = client["service"]["path"].as_str().unwrap();
        assert_eq!(url.path(), format!("/planes/PLANE{path}"));
        assert!(Route::from_path(path, Discovery::Single).is_ok(), "{path}");
        let asked = is_served("Service", &client["service"]["namespace"], &client["service"]["name"]);
        assert_eq!(asked["spec"]["ports"][0]["port"], client["service"]["port"]);
        // What the cainjector writes is not for an installer to write again.
        assert!(client["caBundle"].is_null());
    }
}

/// The key of a CA lies where no role of fedhub reads Secrets: whoever has it is any server, and any caller.
#[test]
fn i14_the_key_of_a_ca_is_not_among_the_secrets_that_fedhub_reads() {
    let (_, served) = deployment(&Overlay::new("base", &["webhooks", "webhooks-cert-manager"]));
    let own = |it: &Value| it["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    let reads = |role: &&Value| {
        let rules = role["rules"].as_array().into_iter().flatten();
        let mut resources = rules.flat_map(|rule| rule["resources"].as_array().into_iter().flatten());
        resources.any(|resource| resource == "secrets")
    };
    let readable: Vec<_> = served.iter().filter(|it| it["kind"] == "Role").filter(reads).map(own).collect();
    assert!(!readable.is_empty());
    assert!(!served.iter().filter(|it| it["kind"] == "ClusterRole").any(|role| reads(&role)));
    let authorities: Vec<_> =
        served.iter().filter(|it| it["kind"] == "Certificate" && it["spec"]["isCA"] == true).collect();
    let [authority] = authorities[..] else { panic!("{authorities:?}") };
    assert!(!readable.contains(&own(authority)), "{authority}");
    // What signs by it finds it.
    let issuers =
        served.iter().filter(|it| it["spec"]["ca"]["secretName"] == authority["spec"]["secretName"]);
    let issuers: Vec<_> =
        issuers.map(|it| (it["kind"].as_str().unwrap(), it["metadata"]["name"].clone())).collect();
    assert_eq!(issuers, [("ClusterIssuer", "fedhub-webhook-ca".into())]);
    let leaf = served
        .iter()
        .find(|it| it["metadata"]["name"] == "fedhub-webhook-tls" && it["kind"] == "Certificate");
    assert_eq!(
        leaf.unwrap()["spec"]["issuerRef"],
        serde_json::json!({"kind": "ClusterIssuer", "name": "fedhub-webhook-ca"})
    );
}
