//! Which command lines are sound, and what is said of those that are not.

use clap::CommandFactory;

use crate::common::{CELL_NAMESPACE, MANAGEMENT_NAMESPACE};

use super::*;

fn run(flags: &[&str]) -> RunArgs {
    let all = ["fedhub", "run"].iter().chain(flags).copied();
    match Args::try_parse_from(all).unwrap().command {
        Command::Run(args) => *args,
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn the_command_line_is_sound() {
    Args::command().debug_assert();
}

#[test]
fn every_flag_of_run_is_an_environment_variable_too() {
    let command = Args::command();
    let run = command.find_subcommand("run").unwrap();
    for arg in run.get_arguments().filter(|a| a.get_id() != "help") {
        let env = arg.get_env().unwrap_or_else(|| panic!("{} has none", arg.get_id())).to_str().unwrap();
        assert_eq!(env, format!("FEDHUB_{}", arg.get_id().as_str().to_uppercase()));
    }
}

#[test]
fn faults_are_named_one_by_one() {
    assert_eq!(run(&[]).validate().len(), 1);
    let faults = run(&["--enable-management-controllers"]).validate();
    assert!(faults.len() == 1 && faults[0].contains("--hub-kubeconfig"), "{faults:?}");
    let faults = run(&["--enable-management-controllers", "--hub-kubeconfig=/nowhere", "--backoff-first=1h"])
        .validate();
    assert_eq!(faults.len(), 2, "{faults:?}");
    let lease = ["--hub-kubeconfig=/dev/null", "--enable-management-controllers"];
    for (flag, fine) in [
        ("--lease-duration=10s", false),
        ("--lease-duration=10001ms", true),
        ("--lease-renew=50ms", false),
        ("--lease-name=", false),
        ("--lease-name=Fed", false),
        ("--lease-name=fedhub-2", true),
    ] {
        let faults = run(&[lease[0], lease[1], flag]).validate();
        assert_eq!(faults.is_empty(), fine, "{flag}: {faults:?}");
    }
}

#[test]
fn faults_of_the_metrics_server_are_named() {
    let at = "--metrics-address=127.0.0.1:0";
    let cert = "--metrics-tls-cert=/dev/null";
    let key = "--metrics-tls-key=/dev/null";
    for (flags, expected) in [
        (&[at][..], &[][..]),
        (&[at, cert, key], &[]),
        (&[at, "--metrics-client-ca=/dev/null"], &[]),
        (&[at, cert], &["--metrics-tls-cert needs --metrics-tls-key"]),
        (&[at, key], &["--metrics-tls-key needs --metrics-tls-cert"]),
        (
            &[cert, "--metrics-client-ca=/dev/null"],
            &["--metrics-tls-cert is for --metrics-address", "--metrics-client-ca is for --metrics-address"],
        ),
        (&[at, "--metrics-client-ca=/nowhere"], &["--metrics-client-ca /nowhere"]),
    ] {
        let usual = ["--enable-management-controllers", "--hub-kubeconfig=/dev/null"];
        let faults = run(&[&usual[..], flags].concat()).validate();
        let named = faults.iter().zip(expected).all(|(fault, expected)| fault.contains(expected));
        assert!(named && faults.len() == expected.len(), "{flags:?}: {faults:?}");
    }
}

#[test]
fn faults_of_admission_are_named() {
    let on = "--enable-webhooks";
    let trusts = "--webhook-trust-network";
    let cert = "--webhook-tls-cert=/dev/null";
    let key = "--webhook-tls-key=/dev/null";
    for (flags, expected) in [
        (&[on, cert, key, trusts][..], &[][..]),
        (&[on, cert, key, "--webhook-client-ca=/dev/null"], &[]),
        (&[on, cert, key, "--webhook-client-ca=/dev/null", trusts], &[]),
        (&[on, cert, key], &["--enable-webhooks needs --webhook-client-ca"]),
        (&[on, cert, trusts], &["--enable-webhooks needs --webhook-tls-key"]),
        (&["--webhook-client-ca=/dev/null"], &["--webhook-client-ca is for --enable-webhooks"]),
        (&[trusts], &["--webhook-trust-network is for --enable-webhooks"]),
        (&[on, cert, key, "--webhook-client-ca=/nowhere"], &["--webhook-client-ca /nowhere"]),
    ] {
        let usual = ["--enable-management-controllers", "--hub-kubeconfig=/dev/null"];
        let faults = run(&[&usual[..], flags].concat()).validate();
        let named = faults.iter().zip(expected).all(|(fault, expected)| fault.contains(expected));
        assert!(named && faults.len() == expected.len(), "{flags:?}: {faults:?}");
    }
}

#[test]
fn faults_of_the_cell_role_are_named() {
    let role = "--enable-cell-controllers";
    let off = "--write-back=false";
    let hub = "--hub-kubeconfig=/dev/null";
    for (flags, expected) in [
        (&[role, hub, "--cell-name=dfw"][..], &[][..]),
        (&[role, off, "--cell-name=dfw"], &[]),
        (&[role, hub, off, "--cell-name=dfw"], &[]),
        (&[role, "--cell-name=dfw"], &["--enable-cell-controllers needs --hub-kubeconfig"]),
        (
            &[role, "--enable-management-controllers", "--cell-name=dfw"],
            &["--enable-management-controllers needs --hub-kubeconfig"],
        ),
        (&[off], &["no role is enabled", "--write-back=false is for --enable-cell-controllers"]),
        (&[role, hub], &["--enable-cell-controllers needs --cell-name"]),
        (&[role, hub, "--cell-name=a/b"], &["--cell-name \"a/b\" is not a valid label value"]),
        (
            &[role, hub, "--cell-name=", "--cell-city=New York"],
            &["--cell-name \"\"", "--cell-city \"New York\""],
        ),
        (&[role, hub, "--cell-name=dfw", "--cell-context=c"], &["--cell-context needs --cell-kubeconfig"]),
        (&[role, hub, "--cell-name=dfw", "--quota-kubeconfig=/nowhere"], &["--quota-kubeconfig /nowhere"]),
        (&["--networking"], &["no role is enabled", "--networking is for --enable-cell-controllers"]),
    ] {
        let faults = run(flags).validate();
        let fits = faults.iter().zip(expected).all(|(fault, start)| fault.starts_with(start));
        assert!(fits && faults.len() == expected.len(), "{flags:?}: {faults:?}");
    }
}

#[test]
fn one_cluster_may_be_all_of_it_where_both_roles_find_it_so() {
    let management = "--enable-management-controllers";
    let cell = "--enable-cell-controllers";
    for (flags, single) in [
        (&[management, cell][..], true),
        (&[management], false),
        (&[cell], false),
        (&[management, cell, "--discovery=kubeconfigs"], false),
    ] {
        assert_eq!(run(flags).is_single_cluster(), single, "{flags:?}");
    }
}

/// Where `deploy/` gives each role its rights, or its Lease could not be made.
#[test]
fn without_a_namespace_each_role_is_where_its_rights_are() {
    let management = "--enable-management-controllers";
    let cell = "--enable-cell-controllers";
    for (flags, namespace) in [
        (&[management][..], MANAGEMENT_NAMESPACE),
        (&[cell], CELL_NAMESPACE),
        (&[management, cell], MANAGEMENT_NAMESPACE),
        (&[cell, "--namespace=own"], "own"),
    ] {
        assert_eq!(run(flags).namespace(), namespace, "{flags:?}");
    }
    for (namespace, fine) in [("own-1", true), ("", false), ("Own", false), ("a.b", false)] {
        let faults = run(&[cell, "--cell-name=dfw", &format!("--namespace={namespace}")]).validate();
        assert_eq!(
            !faults.iter().any(|fault| fault.starts_with("--namespace ")),
            fine,
            "{namespace}: {faults:?}"
        );
    }
}

/// Two elections of one process by one Lease would have one of them stand by for ever.
#[test]
fn each_role_has_a_lease_of_its_own() {
    let args = run(&["--lease-name=x"]);
    assert_ne!(args.cell_lease_name(), args.lease_name);
}

#[test]
fn the_election_can_be_left_out() {
    for (flags, elects) in
        [(vec![], true), (vec!["--leader-elect=true"], true), (vec!["--leader-elect=false"], false)]
    {
        assert_eq!(run(&flags).leader_elect, elects, "{flags:?}");
    }
}
#[test]
fn flags_of_a_discovery_that_is_not_asked_for_are_faults() {
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let (kubeconfig, management) =
        (format!("--discovery-kubeconfig={own}"), format!("--management-kubeconfig={own}"));
    for (flags, expected) in [
        (&["--discovery=milo"][..], &[][..]),
        (&["--discovery=milo", &kubeconfig], &[]),
        (&["--discovery=milo", &kubeconfig, "--discovery-context=c"], &[]),
        (&["--discovery=milo", &management, "--discovery-context=c"], &[]),
        (&["--discovery=milo", "--discovery-context=c"], &["--discovery-context needs"]),
        (&["--discovery=milo", "--discovery-kubeconfig=/nowhere"], &["--discovery-kubeconfig /nowhere"]),
        (&[&kubeconfig], &["--discovery-kubeconfig is for --discovery milo, not for single"]),
        (
            &["--discovery=kubeconfigs", &kubeconfig, "--discovery-context=c"],
            &["--discovery-kubeconfig is for --discovery milo", "--discovery-context is for"],
        ),
    ] {
        let hub = format!("--hub-kubeconfig={own}");
        let all: Vec<_> =
            ["--enable-management-controllers", &hub].into_iter().chain(flags.iter().copied()).collect();
        let faults = run(&all).validate();
        let fits = faults.iter().zip(expected).all(|(fault, start)| fault.starts_with(start));
        assert!(fits && faults.len() == expected.len(), "{flags:?}: {faults:?}");
    }
}

#[test]
fn w8_the_source_of_instance_types_is_a_server_that_is_no_cell() {
    let management = ["--enable-management-controllers", "--hub-kubeconfig=/dev/null"];
    let cell = ["--enable-cell-controllers", "--cell-name=dfw"];
    let milo = ["--discovery=milo", "--discovery-kubeconfig=/dev/null"];
    for (roles, flags, says) in [
        (&[&management[..]][..], &["--instance-types=management"][..], None),
        (&[&management, &milo], &["--instance-types=discovery"], None),
        (&[&management], &["--instance-types=discovery"], Some("is for --discovery milo, not for single")),
        (&[&cell], &["--instance-types=management"], Some("is for --enable-management-controllers")),
        (&[&management, &cell], &["--instance-types=management"], Some("needs a source that is no cell")),
        (&[&management, &cell, &milo[..1]], &["--instance-types=discovery"], Some("no cell")),
        (&[&management, &cell, &milo], &["--instance-types=discovery"], None),
        (&[&management, &cell], &["--instance-types=management", "--cell-kubeconfig=/dev/null"], None),
        (&[&management, &cell], &[], None),
    ] {
        let all: Vec<_> = roles.iter().copied().chain([flags]).flatten().copied().collect();
        let faults: Vec<_> =
            run(&all).validate().into_iter().filter(|fault| fault.contains("instance-types")).collect();
        assert_eq!(faults.len(), usize::from(says.is_some()), "{all:?}: {faults:?}");
        assert!(says.is_none_or(|says| faults[0].contains(says)), "{faults:?}");
    }
}
