//! Faults beside a real fedhub that leads, and beside one that was killed. A seed picks them:
//! `PROPTEST_RNG_SEED`.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use proptest::sample::subsequence;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, TestRunner};

use super::faults::{CASES, Case};
use super::objects::{SPACE, put_lease};
use super::planes::Planes;

/// What a fedhub that runs repairs before anybody can ask, and what it is itself.
const REPAIRED: [&str; 6] = [
    "fedhub-not-running",
    "federator-behind",
    "orphaned-on-hub",
    "policy-missing",
    "projection-missing",
    "projection-quarantined",
];
/// How many faults are tried with a fedhub that runs, and how many with one that was killed.
const PICKED: usize = 4;

/// A fedhub of the management role, which is killed at the latest when this is dropped.
struct Fedhub(Child);

impl Fedhub {
    /// Starts it on planes in sync, and waits until it leads and works.
    async fn start(planes: &Planes) -> Self {
        assert!(planes.management.delete("Lease", "fedhub-system", "fedhub").unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedhub"));
        command.args(["run", "--enable-management-controllers", "--discovery=kubeconfigs"]);
        command.arg("--admin-address=127.0.0.1:0");
        for plane in ["management", "hub"] {
            command.arg(format!("--{plane}-kubeconfig={}", planes.file(plane).display()));
        }
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let fedhub = Self(command.spawn().unwrap());
        let policy = ("PropagationPolicy", SPACE, "city-dfw");
        assert!(planes.hub.delete(policy.0, policy.1, policy.2).unwrap());
        let restored = async {
            while planes.hub.get(policy.0, policy.1, policy.2).is_none() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), restored).await.unwrap();
        fedhub
    }

    /// SIGKILL: its Lease stands.
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Fedhub {
    fn drop(&mut self) {
        drop((self.0.kill(), self.0.wait()));
    }
}

async fn assert_named(planes: &Planes, cause: &str, code: i32, seed: &str) {
    let cell = planes.cell_flag();
    let explained = planes.explain(["wd", "web"], &["--json", "--timeout=30s", &cell]).await;
    assert_eq!(explained.json["cause"], cause, "{seed}: {}", explained.text);
    assert_eq!(explained.code, code, "{seed}: {cause}: {}", explained.text);
}

/// U4: the cause is named whether or not fedhub runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_a_fault_that_a_seed_picks_is_named_with_fedhub_running_and_killed() {
    let config = Config::default();
    let seed = format!("PROPTEST_RNG_SEED={}", config.rng_seed);
    let mut runner = TestRunner::new(config);
    let faults: Vec<&Case> = CASES.iter().filter(|(cause, ..)| *cause != "in-sync").collect();
    assert!(faults.len() >= 20);
    let mut pick = |is: fn(&str) -> bool| {
        let of: Vec<usize> = (0..faults.len()).filter(|at| is(faults[*at].0)).collect();
        subsequence(of, PICKED).new_tree(&mut runner).unwrap().current()
    };
    let running = pick(|cause| !REPAIRED.contains(&cause)).into_iter().map(|at| (at, true));
    let killed = pick(|_| true).into_iter().map(|at| (at, false));
    for (at, runs) in running.chain(killed) {
        let (cause, code, provoke) = *faults[at];
        let mode = format!("{seed}: {}", if runs { "running" } else { "killed" });
        let planes = Planes::in_sync().await;
        let mut fedhub = Fedhub::start(&planes).await;
        assert_named(&planes, "in-sync", 0, &mode).await;
        if !runs {
            fedhub.kill();
        }
        provoke(&planes);
        // Again, once fedhub has had time to react.
        for _ in 0..2 {
            assert_named(&planes, cause, code, &mode).await;
        }
    }
}

/// U4: once the Lease has run out, what only fedhub would repair is its absence, and everything else has the
/// same cause.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_every_fault_is_named_when_fedhub_has_been_dead_for_long() {
    for (cause, code, provoke) in CASES {
        let planes = Planes::in_sync().await;
        provoke(&planes);
        put_lease(&planes, 300);
        let absent = ["federator-behind", "policy-missing", "projection-missing"].contains(cause);
        assert_named(&planes, if absent { "fedhub-not-running" } else { cause }, *code, cause).await;
    }
}
