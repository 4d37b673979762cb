//! Kubeconfigs that are used, and those that are refused.

use super::*;

fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: c, user: u}}\n\
         clusters:\n- name: c\n  cluster: {{server: 'https://127.0.0.1:1'{cluster}}}\nusers:\n- name: u\n  user: {{{user}}}\n"
    )
}

#[test]
fn a_secret_cannot_reach_this_machine() {
    assert!(from_secret(&kubeconfig("", "token: abc")).is_ok());
    for (cluster, user) in [
        ("", "exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/true}"),
        ("", "auth-provider: {name: oidc, config: {}}"),
        ("", "tokenFile: /etc/hostname"),
        ("", "client-certificate: /etc/hostname"),
        ("", "client-key: /etc/hostname"),
        (", certificate-authority: /etc/hostname", "token: abc"),
    ] {
        let refused = from_secret(&kubeconfig(cluster, user));
        assert!(matches!(refused, Err(CredentialsError::Refused(_))), "{cluster}{user}: {refused:?}");
    }
    assert!(matches!(from_secret("nonsense: ["), Err(CredentialsError::Content(_))));
}

#[test]
fn what_is_not_supported_is_refused_by_its_name() {
    let proxied = kubeconfig(", proxy-url: 'http://proxy:3128'", "token: abc");
    let file = written("proxied", &proxied);
    for error in [from_secret(&proxied).err(), Source::file(&file, None).read().err()] {
        let words = fedhub_core::errors::chain(&error.unwrap());
        assert!(words.contains("proxy-url \"http://proxy:3128\" is not supported"), "{words}");
    }
    assert!(from_secret(&kubeconfig(", proxy-url: ''", "token: abc")).is_ok());
    // Another context's proxy is none of our business.
    let other =
        "\n- name: other\n  cluster: {server: 'https://127.0.0.1:2', proxy-url: 'http://proxy:1'}\nusers:";
    assert!(from_secret(&kubeconfig("", "token: abc").replace("\nusers:", other)).is_ok());
}

#[test]
fn i14_credentials_go_to_no_server_by_plain_http_but_on_this_machine() {
    for (server, accepted) in [
        ("https://plane.example.com", true),
        ("HTTPS://plane.example.com", true),
        ("http://127.0.0.1:8001", true),
        ("http://[::1]:8001", true),
        ("http://localhost:8001", true),
        ("http://plane.example.com", false),
        ("HTTP://plane.example.com", false),
        ("http://10.0.0.1:8080", false),
        ("http://localhost.example.com", false),
        ("http://127.0.0.1.example.com", false),
        ("http://127.0.0.1@plane.example.com", false),
    ] {
        let content = kubeconfig("", "token: abc").replace("https://127.0.0.1:1", server);
        let file = written("plain", &content);
        for read in [from_secret(&content), Source::file(&file, None).read().map(|loaded| loaded.config)] {
            let words = read.as_ref().err().map(|error| fedhub_core::errors::chain(error));
            assert_eq!(words.is_none(), accepted, "{server}: {words:?}");
            assert!(words.is_none_or(|it| it.contains("--insecure-http")), "{server}");
        }
    }
}

/// Section 6: each fault is reported without a line of the kubeconfig and without secrets.
#[test]
fn what_a_kubeconfig_holds_is_never_told() {
    let fine = kubeconfig("", "token: hunter2-token");
    for (broken, told) in [
        (fine.replace("users:", "users"), "line"),
        (fine.replace("token: hunter2-token", "token: [hunter2-token]"), "line"),
        (
            kubeconfig(", proxy-url: 'http://hunter2:hunter2@proxy:3128/hunter2'", "token: abc"),
            "http://proxy:3128",
        ),
        (kubeconfig(", proxy-url: 'hunter2 hunter2'", "token: abc"), "proxy-url is not supported"),
        (kubeconfig(", certificate-authority-data: aHVudGVyMg==", "token: abc"), "certificate"),
        (kubeconfig(", certificate-authority-data: 'hunter2 hunter2'", "token: abc"), "certificate"),
        (fine.replace("https://127.0.0.1:1", "https://hunter2 hunter2"), "url"),
    ] {
        let path = written("broken", &broken);
        for error in [from_secret(&broken).err(), Source::file(&path, None).read().err()] {
            let error = error.unwrap_or_else(|| panic!("it is fine: {broken}"));
            let words = fedhub_core::errors::chain(&error);
            assert!(words.contains(told) && !words.contains("hunter2"), "{words}");
            assert!(!format!("{error:?}").contains("hunter2-token"), "{error:?}");
        }
    }
    let unusable = [
        "client-certificate-data: aHVudGVyMg==, client-key-data: aHVudGVyMg==",
        "client-certificate-data: LS0tLS1odW50ZXIy, client-key-data: LS0tLS1CRUdJTiBodW50ZXIyCg==",
        "token: \"hunter2\\nhunter2\"",
    ];
    let _ = rustls::crypto::ring::default_provider().install_default();
    let transport = crate::transport::Transport::new(
        crate::transport::TransportConfig::default(),
        fedhub_core::metrics::Metrics::new().unwrap(),
        fedhub_cache::MemoryBudget::unlimited(),
    );
    for user in unusable {
        let config = from_secret(&kubeconfig("", user)).unwrap();
        let error = transport.server(&config).map(drop).unwrap_err();
        let words = fedhub_core::errors::chain(&error);
        assert!(!words.contains("hunter2"), "{words}");
    }
}

#[test]
fn what_names_the_servers_certificate_is_honoured() {
    let config = from_secret(&kubeconfig(", tls-server-name: kubernetes", "token: abc")).unwrap();
    assert_eq!(config.tls_server_name.as_deref(), Some("kubernetes"));
    let config = from_secret(&kubeconfig(", insecure-skip-tls-verify: true", "token: abc")).unwrap();
    assert!(config.accept_invalid_certs);
}

#[test]
fn half_a_kubeconfig_does_not_make_us_nobody() {
    let whole = kubeconfig("", "token: abc");
    let (half, _) = whole.split_once("users:").unwrap();
    let error = fedhub_core::errors::chain(&from_secret(half).unwrap_err());
    assert!(error.contains("names the user \"u\""), "{error}");
}

#[test]
fn what_is_read_from_files_is_content_and_refers_to_none() {
    let token = written("token", "first\n");
    let user = format!("tokenFile: {}, as-user-extra: {{a: [b], c: [d], e: [f]}}", token.display());
    let source = Source::file(&written("config", &kubeconfig("", &user)), Some("c"));
    let first = source.read().unwrap();
    let told = serde_json::to_value(&first.config.auth_info).unwrap();
    assert_eq!((&told["token"], &told["tokenFile"]), (&"first".into(), &serde_json::Value::Null));
    assert!((0..20).all(|_| source.read().unwrap().print == first.print), "the same each time");
    written("token", "second");
    assert_ne!(source.read().unwrap().print, first.print);
    written("token", "\n");
    assert!(matches!(source.read(), Err(CredentialsError::Empty(_))));
    std::fs::remove_file(&token).unwrap();
    let words = fedhub_core::errors::chain(&source.read().err().unwrap());
    assert!(words.contains(token.to_str().unwrap()), "{words}");
    assert!(matches!(
        Source::file(&token, Some("other")).read(),
        Err(CredentialsError::File { source: KubeconfigFault::Unreadable(_), .. })
    ));
}

thread_local! {
    /// A directory that goes with its test.
    static DIRECTORY: tempfile::TempDir = tempfile::tempdir().unwrap();
}

fn written(name: &str, content: &str) -> PathBuf {
    let path = DIRECTORY.with(|directory| directory.path().join(name));
    std::fs::write(&path, content).unwrap();
    path
}
