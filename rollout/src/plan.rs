//! The plan of a rollout.
//!
//! Decides R8. The plan is the policy's waves when a rollout to another target starts, and stays as it is
//! until the next one starts; only its deployments follow the world. A change of the strategy makes a new
//! plan for the same rollout: its target, its approvals and how far each city is stay.

use std::collections::HashSet;
use std::time::Duration;

use super::{Approval, Approved, Direction, Policy, Strategy, Wave, World};

/// Whether a rollout starts: to another target, forward again after an abort, or anew by another strategy.
pub(crate) fn is_new(world: &World<'_>) -> bool {
    let status = world.status;
    if world.policy.abort {
        return status.direction != Direction::Abort;
    }
    status.target != Some(world.newest)
        || status.direction == Direction::Abort
        || (world.policy.strategy == Strategy::AllAtOnce && status.direction == Direction::Back)
}

/// Whether the plan was made by another strategy than the policy has now.
fn is_of_another_strategy(world: &World<'_>) -> bool {
    world.status.strategy.is_some_and(|made| made != world.policy.strategy)
}

/// The waves, with each deployment of the world once.
pub(crate) fn frozen(world: &World<'_>, is_new: bool) -> Vec<Wave> {
    let starts = is_new && !world.policy.abort;
    let mut waves = match world.policy.strategy {
        Strategy::AllAtOnce => vec![everything(world)],
        Strategy::External => world.policy.waves.clone(),
        Strategy::InOrder if starts || is_of_another_strategy(world) || world.status.plan.is_empty() => {
            world.policy.waves.clone()
        }
        Strategy::InOrder => world.status.plan.clone(),
    };
    if waves.is_empty() {
        waves = Policy::one_by_one([], world.policy.progress_deadline).waves;
    }
    let mut wanted: HashSet<_> = world.cities.iter().map(|city| &*city.deployment).collect();
    for wave in &mut waves {
        // Nothing would ever start with 0.
        wave.max_concurrent = wave.max_concurrent.max(1);
        wave.deployments.retain(|name| wanted.remove(&**name));
    }
    if let Some(last) = waves.last_mut() {
        let come = world.cities.iter().filter(|city| wanted.remove(&*city.deployment));
        last.deployments.extend(come.map(|city| city.deployment.clone()));
    }
    waves
}

/// One wave that holds nothing back.
fn everything(world: &World<'_>) -> Wave {
    Wave {
        name: "all".into(),
        deployments: Vec::new(),
        approval: Approval::None,
        soak: Duration::ZERO,
        max_concurrent: world.cities.len(),
        max_failures: world.cities.len(),
    }
}

/// The approvals that hold for this rollout: those of another target do not.
pub(crate) fn approvals(world: &World<'_>, is_new: bool) -> Vec<Approved> {
    if is_new && world.status.target.is_some() && !world.policy.abort {
        Vec::new()
    } else {
        world.status.approvals.clone()
    }
}
