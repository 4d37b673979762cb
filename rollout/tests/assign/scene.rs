//! A world that a test changes by hand, one pass after the other.

use std::time::Duration;

use fedhub_rollout::{
    Approval, Approved, Assignment, Carries, Cause, City, CityState, Decision, Gate, Health, OnFailure,
    Policy, Revision, Status, Strategy, Unreachable, Verdict, Wave, World, assign,
};
use jiff::Timestamp;

pub const DEADLINE: Duration = Duration::from_mins(10);

/// A Workload with its deployments, and the status that is kept of its rollout.
#[derive(Clone, Debug)]
pub struct Scene {
    pub policy: Policy,
    pub newest: Revision,
    pub cities: Vec<City>,
    pub status: Status,
    pub now: Timestamp,
    /// Whether the status of a pass is the next one's.
    pub is_kept: bool,
}

pub fn wave(name: &str, deployments: &str) -> Wave {
    Wave {
        name: name.into(),
        deployments: deployments.split_whitespace().map(Into::into).collect(),
        approval: Approval::None,
        soak: Duration::ZERO,
        max_concurrent: 1,
        max_failures: 0,
    }
}

pub fn stuck() -> Health {
    Health::Stuck(Cause { reason: "ImageUnavailable".into(), message: "no such image".into() })
}

impl Scene {
    /// Deployments that carry the revision 3 and are healthy, in waves, with a status kept since then.
    pub fn new(waves: &[Wave]) -> Self {
        let names = waves.iter().flat_map(|wave| wave.deployments.clone());
        let mut scene = Self {
            policy: Policy {
                strategy: Strategy::InOrder,
                waves: waves.to_vec(),
                progress_deadline: DEADLINE,
                unreachable: Unreachable::Skip,
                on_failure: OnFailure::Pause,
                paused: false,
                abort: false,
            },
            newest: Revision(3),
            cities: names.map(|name| city(&name, Carries::Known(Revision(3)), Health::Healthy)).collect(),
            status: Status::default(),
            now: Timestamp::UNIX_EPOCH,
            is_kept: true,
        };
        // The first pass sees cities that have yet to soak.
        scene.pass();
        scene.wait(Duration::from_hours(24));
        assert_eq!(scene.pass().verdict, Verdict::Complete);
        scene
    }

    /// A Workload without a rollout of its own, for which nothing is kept.
    pub fn stateless(deployments: &str) -> Self {
        let names = deployments.split_whitespace();
        let mut scene = Self::new(&[wave("all", deployments)]);
        scene.policy = Policy::one_by_one(names.map(Into::into), DEADLINE);
        scene.status = Status::default();
        scene.is_kept = false;
        scene
    }

    /// A newer template.
    pub fn template(&mut self) -> &mut Self {
        self.newest = Revision(self.newest.0 + 1);
        self
    }

    pub fn wait(&mut self, time: Duration) -> &mut Self {
        self.now += time;
        self
    }

    pub fn city(&mut self, name: &str) -> &mut City {
        self.cities.iter_mut().find(|city| &*city.deployment == name).unwrap()
    }

    pub fn set(&mut self, name: &str, health: Health) -> &mut Self {
        self.city(name).health = health;
        self
    }

    pub fn carry(&mut self, name: &str, carries: Carries) -> &mut Self {
        self.city(name).carries = carries;
        self
    }

    pub fn add(&mut self, name: &str) -> &mut Self {
        self.cities.push(city(name, Carries::Nothing, Health::Progressing));
        self
    }

    pub fn remove(&mut self, name: &str) -> &mut Self {
        self.cities.retain(|city| &*city.deployment != name);
        self
    }

    /// All that are on their way become healthy.
    pub fn heal(&mut self) -> &mut Self {
        for city in self.cities.iter_mut().filter(|city| city.health == Health::Progressing) {
            city.health = Health::Healthy;
        }
        self
    }

    pub fn approve(&mut self, wave: &str, gate: Gate) -> &mut Self {
        let at = self.now;
        self.status.approvals.push(Approved { wave: wave.into(), gate, by: "ann".into(), at });
        self
    }

    /// What is decided, without any effect.
    pub fn decide(&self) -> Decision {
        assign(&World {
            policy: &self.policy,
            newest: self.newest,
            cities: &self.cities,
            held: None,
            status: &self.status,
            now: self.now,
        })
    }

    /// One pass: the decision, whose status is kept, and the deployments as it writes them.
    pub fn pass(&mut self) -> Decision {
        let decision = self.decide();
        self.keep(&decision);
        self.write(&decision);
        decision
    }

    pub fn keep(&mut self, decision: &Decision) {
        if self.is_kept {
            self.status = decision.status.clone();
        }
    }

    pub fn write(&mut self, decision: &Decision) {
        for (city, assignment) in self.cities.iter_mut().zip(&decision.assignments) {
            if let Assignment::Carry(revision) = *assignment
                && city.carries != Carries::Known(revision)
            {
                city.carries = Carries::Known(revision);
                if city.health != Health::Unreachable {
                    city.health = Health::Progressing;
                }
            }
        }
    }

    /// One pass, and what deployments carry after it.
    pub fn step(&mut self) -> String {
        self.pass();
        self.carried()
    }

    /// Passes and healing, until neither changes anything.
    pub fn settle(&mut self) -> Verdict {
        for _ in 0..20 * (self.cities.len() + 1) {
            self.pass();
            self.heal();
            if let Some(next) = self.decide().next {
                self.wait(next);
            }
        }
        self.pass().verdict
    }

    /// What each deployment carries, such as `a=4 b=3`; an edited one with `~`.
    pub fn carried(&self) -> String {
        let texts = self.cities.iter().map(|city| match city.carries {
            Carries::Nothing => format!("{}=-", city.deployment),
            Carries::Unknown => format!("{}=?", city.deployment),
            Carries::Known(revision) => format!("{}={}", city.deployment, revision.0),
            Carries::Edited(revision) => format!("{}=~{}", city.deployment, revision.0),
        });
        texts.collect::<Vec<_>>().join(" ")
    }

    /// The states of the kept status, such as `a=Updating b=Waiting`.
    pub fn states(&self) -> String {
        let texts = self.status.cities.iter().map(|entry| format!("{}={}", entry.deployment, entry.state));
        texts.collect::<Vec<_>>().join(" ")
    }

    pub fn state(&self, name: &str) -> CityState {
        self.status.cities.iter().find(|entry| &*entry.deployment == name).unwrap().state
    }
}

pub fn city(name: &str, carries: Carries, health: Health) -> City {
    City { deployment: name.into(), city: name.to_uppercase().into(), carries, health }
}

/// The deployment that a rollout stalls or was rolled back by, and the reason.
pub fn stalled(verdict: &Verdict) -> (&str, &str) {
    match verdict {
        Verdict::Stalled { deployment, cause } | Verdict::RolledBack { deployment, cause } => {
            (deployment, &cause.reason)
        }
        other => panic!("{other:?}"),
    }
}
