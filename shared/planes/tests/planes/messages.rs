//! What operators read about planes, in `tests/snapshots`.

use std::io;
use std::time::Duration;

use fedhub_core::errors::chain;
use fedhub_core::names::PlaneName;
use fedhub_planes::discovery::credentials::{CredentialsError, KubeconfigFault};
use fedhub_planes::identity::IdentityRefusal;
use fedhub_planes::transport::TimedOut;
use fedhub_testing::{Messages, assert_messages, one_of_each};

#[test]
fn refusals_and_errors_of_planes_read_well() {
    let faults = one_of_each![
        KubeconfigFault::Unreadable(_) => KubeconfigFault::Unreadable("not YAML at line 1".to_owned()),
        KubeconfigFault::NoUser(_) => KubeconfigFault::NoUser("admin".to_owned()),
        KubeconfigFault::Proxy(_) => KubeconfigFault::Proxy(Some("http://proxy:3128".to_owned())),
        KubeconfigFault::PlainHttp(_) => KubeconfigFault::PlainHttp("http://hub.example.com:8080".to_owned()),
    ];
    let path = "hub.yaml".to_owned();
    let context = ", context prod".to_owned();
    let credentials = one_of_each![
        CredentialsError::File { .. } =>
            CredentialsError::File { path, context, source: KubeconfigFault::NoUser("admin".to_owned()) },
        CredentialsError::Kubectl { .. } =>
            CredentialsError::Kubectl { context: "hub".to_owned(), source: KubeconfigFault::NoUser("admin".to_owned()) },
        CredentialsError::Unreadable(..) => CredentialsError::Unreadable(
            "tokenFile token".to_owned(), io::Error::from(io::ErrorKind::NotFound)),
        CredentialsError::NoAuthority => CredentialsError::NoAuthority,
        CredentialsError::Empty(_) => CredentialsError::Empty("tokenFile token".to_owned()),
        CredentialsError::Content(_) => CredentialsError::Content(KubeconfigFault::Proxy(None)),
        CredentialsError::Refused(_) => CredentialsError::Refused("exec"),
        CredentialsError::NotInCluster(_) =>
            CredentialsError::NotInCluster(kube::Config::incluster_env().unwrap_err()),
    ];
    let plane = |name| PlaneName::new(name).unwrap();
    let refusals = one_of_each![
        IdentityRefusal::AnotherIdentity { .. } =>
            IdentityRefusal::AnotherIdentity { known: "uid-1".to_owned(), seen: "uid-2".to_owned() },
        IdentityRefusal::IdentityTaken { .. } =>
            IdentityRefusal::IdentityTaken { by: plane("other"), identity: "uid-1".to_owned() },
        IdentityRefusal::InvalidUid { .. } => IdentityRefusal::InvalidUid { shown: "uid\n1".to_owned() },
    ];
    let late = Duration::from_secs(9);
    let time_outs = one_of_each![
        TimedOut::Headers(_) => TimedOut::Headers(late),
        TimedOut::Stalled(_) => TimedOut::Stalled(late),
        TimedOut::Whole(_) => TimedOut::Whole(late),
    ];
    let mut messages = Messages::default();
    messages
        .section("Kubeconfigs", faults.iter().map(|error| ("fault", chain(error))))
        .section("Credentials", credentials.iter().map(|error| ("error", chain(error))))
        .section(
            "Events on refused planes",
            refusals.iter().map(|it| (it.event().as_str(), it.message(&plane("shop"), "fedhub-system"))),
        )
        .section("Time-outs", time_outs.iter().map(|error| ("error", chain(error))));
    assert_messages!("planes", messages);
}
