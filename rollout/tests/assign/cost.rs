//! What a pass costs.

use std::fmt::Write;
use std::time::Duration;

use crate::assign::scene::{Scene, stuck, wave};

/// The processor time of this thread: what it waits for others on a busy machine is not in it.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

/// The time of so many passes over so many deployments in ten waves, midway in a rollout.
fn passes(passes: u32, count: usize) -> Duration {
    let mut waves = Vec::new();
    for at in 0..10 {
        let mut names = String::new();
        for number in 0..count / 10 {
            write!(names, "deployment-{at}-{number} ").unwrap();
        }
        waves.push(wave(&format!("wave-{at}"), &names));
        waves[at].max_concurrent = count;
    }
    let mut scene = Scene::new(&waves);
    scene.template();
    for _ in 0..5 {
        scene.pass();
        scene.heal();
    }
    scene.cities[0].health = stuck();
    let start = processor_time();
    for _ in 0..passes {
        assert_eq!(scene.decide().assignments.len(), count);
    }
    processor_time().saturating_sub(start)
}

/// A pass goes over the deployments a fixed number of times, so that as many deployments in fewer passes
/// cost as much. Where it went over all for each of them, they would cost forty times as much.
#[test]
fn a_pass_is_linear_in_its_deployments() {
    let few = passes(400, 100);
    let many = passes(10, 4_000);
    assert!(many < few * 3, "{few:?} for 400 passes over 100, {many:?} for 10 over 4,000");
}

/// 500 cities take at most 1 ms. Run it with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "measures time, and needs a release build"]
fn a_pass_over_500_deployments_takes_at_most_a_millisecond() {
    let time = passes(1_000, 500) / 1_000;
    println!("{time:?}");
    assert!(time < Duration::from_millis(1), "{time:?}");
}
