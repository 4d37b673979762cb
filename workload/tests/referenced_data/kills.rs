//! A process that is killed at any write: the companion stays for the WD that needs it, and goes after the
//! last.

use serde_json::json;

use crate::referenced_data::counts::shared;
use crate::referenced_data::support::{Kill, SPACE, World, quiet, until};

/// Runs a process that is killed after so many writes, then another one; returns whether the first one was
/// killed.
async fn killed(world: &World, writes: usize, carried_out: bool, done: impl Fn() -> bool) -> bool {
    let kill = Kill::after(writes, carried_out);
    let run = world.run_until(&kill);
    for _ in 0..600 {
        if kill.has_struck() || done() {
            break;
        }
        quiet(1).await;
    }
    let struck = kill.has_struck();
    drop(run);
    let run = world.run();
    until("the end", done).await;
    quiet(30).await;
    run.stop().await;
    struck
}

#[tokio::test(start_paused = true)]
async fn w5_a_kill_at_any_write_while_two_wds_that_share_a_secret_are_deleted_ends_the_same() {
    for [first, last] in [["api", "web"], ["web", "api"]] {
        for carried_out in [false, true] {
            let mut struck = 0;
            for writes in 1.. {
                let (world, run) = shared().await;
                run.stop().await;
                world.alpha.delete("WorkloadDeployment", SPACE, first).unwrap();
                let mut any = killed(&world, writes, carried_out, || world.wd(first).is_none()).await;
                let what = format!("{first} first, killed at write {writes}, carried out: {carried_out}");
                assert_eq!(world.counted("Secret", "db"), [format!("{SPACE}/{last}")], "{what}");
                assert!(world.is_ready(last), "{what}");
                world.alpha.delete("WorkloadDeployment", SPACE, last).unwrap();
                any |= killed(&world, writes, carried_out, || world.wd(last).is_none()).await;
                assert!(world.companion("Secret", "db").is_none(), "{what}");
                if !any {
                    break;
                }
                struck += 1;
            }
            assert!(struck >= 4, "only {struck} writes were tried");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn w5_a_kill_at_any_write_while_a_secret_gets_another_type_ends_the_same() {
    for carried_out in [false, true] {
        for writes in 1.. {
            let (world, run) = shared().await;
            run.stop().await;
            world.alpha.delete("Secret", SPACE, "db").unwrap();
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "example.com/other",
                "metadata": {"namespace": SPACE, "name": "db"}, "data": {"k": "YQ=="}});
            world.alpha.put(secret).unwrap();
            let before = world.companion("Secret", "db").unwrap()["metadata"]["uid"].clone();
            let is_new = || world.companion("Secret", "db").is_some_and(|c| c["type"] == "example.com/other");
            let struck = killed(&world, writes, carried_out, || {
                is_new() && world.counted("Secret", "db") == ["shop/api", "shop/web"]
            })
            .await;
            let what = format!("killed at write {writes}, carried out: {carried_out}");
            let companion = world.companion("Secret", "db").unwrap();
            assert_ne!(companion["metadata"]["uid"], before, "{what}");
            assert_eq!(companion["data"], json!({"k": "YQ=="}), "{what}");
            if !struck {
                assert!(writes > 2, "{what}");
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn w5_a_kill_at_any_write_of_a_copy_ends_the_same() {
    for carried_out in [false, true] {
        for writes in 1.. {
            let world = World::with_web();
            let struck = killed(&world, writes, carried_out, || world.is_ready("web")).await;
            let what = format!("killed at write {writes}, carried out: {carried_out}");
            assert_eq!(world.counted("Secret", "db"), ["shop/web"], "{what}");
            assert_eq!(world.expected("web")["expected"], json!(["ConfigMap/app", "Secret/db"]), "{what}");
            if !struck {
                assert!(writes > 6, "{what}");
                break;
            }
        }
    }
}
