//! The writes of `restart`. Pure.

use fedhub_api::disruption::{consents, disks};
use fedhub_api::facts::restarts::restarted_at;
use fedhub_core::clock::stamp;
use fedhub_core::message::Quoted;
use fedhub_core::names::RESTARTED_AT;
use fedhub_core::object::{Kind, Object, ObjectView};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::model::Workload;
use crate::problem::Problem;

/// The writes of a restart.
#[derive(Clone, Debug, PartialEq)]
pub struct Restart<'a> {
    /// The objects: the Workload, or the deployments of some of its cities.
    pub targets: Vec<Target<'a>>,
    /// The merge patch of each.
    pub patch: Value,
    /// The cities that restart.
    pub cities: Vec<&'a str>,
}

/// An object to write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Itself.
    pub object: &'a Object,
    /// The city; empty for all.
    pub city: &'a str,
}

/// Why nothing is restarted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The workload has no such city; those that it has.
    NoCity(String, Vec<String>),
    /// No instance runs in that city yet.
    NotDeployed(String),
    /// Its instances have these disks, and its template does not allow that they are destroyed.
    KeepsDisks(Vec<String>),
}

impl Refusal {
    /// Describes the refusal to the user.
    pub fn problem(&self, workload: &str) -> Problem {
        let workload = Quoted(workload);
        match self {
            Self::NoCity(city, there) => {
                Problem::usage(format!("{workload} is not in the city {}.", Quoted(city)))
                    .remedy(format!("It is in {}.", there.join(", ")))
            }
            Self::KeepsDisks(disks) => Problem::usage(format!(
                "A restart of {workload} replaces its instances, and with them {}.",
                match disks.as_slice() {
                    [disk] => format!("the disk {}", Quoted(disk)),
                    [] => "what they have stored".to_owned(),
                    disks => format!("the disks {}", disks.join(", ")),
                }
            ))
            .remedy(
                "To restart them in place, run `instances restart --workload`; to replace them, set disruption: Allow in the \
                 workload's template.",
            ),
            Self::NotDeployed(city) => {
                Problem::failed(format!("{workload} has nothing to restart in {city} yet."))
            }
        }
    }
}

/// Decides what restarting a workload in those cities writes; everywhere, where none is named. Cities are
/// found in whatever case.
pub fn plan<'a>(workload: &Workload<'a>, cities: &[String], now: Timestamp) -> Result<Restart<'a>, Refusal> {
    let spec = &workload.object.spec()["template"]["spec"];
    if !consents(spec, spec) {
        return Err(Refusal::KeepsDisks(disks(spec).map(str::to_owned).collect()));
    }
    // A restart replaces an earlier one by its time, and two in one second would be one.
    let deployments = workload.sites.iter().filter_map(|site| site.deployment);
    let earlier = deployments.chain([workload.object]).map(|it| restarted_at(&it.spec()["template"])).max();
    let earlier = earlier.and_then(|seconds| Timestamp::from_second(seconds.checked_add(1)?).ok());
    let annotations = json!({ RESTARTED_AT: stamp(earlier.map_or(now, |earlier| now.max(earlier))) });
    let patch = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
    let wanted = || workload.sites.iter().filter(|site| site.wanted);
    let mut there: Vec<&'a str> = Vec::new();
    for site in wanted() {
        if !there.contains(&site.city) {
            there.push(site.city);
        }
    }
    if cities.is_empty() {
        let all = Target { kind: Kind::Workload, object: workload.object, city: "" };
        return Ok(Restart { targets: vec![all], patch, cities: there });
    }
    let is_named = |city: &str| cities.iter().any(|named| named.eq_ignore_ascii_case(city));
    let known = |named: &&String| !there.iter().any(|city| city.eq_ignore_ascii_case(named));
    if let Some(missing) = cities.iter().find(known) {
        let there = there.iter().map(|city| (*city).to_owned()).collect();
        return Err(Refusal::NoCity(missing.clone(), there));
    }
    let mut targets = Vec::new();
    for site in wanted().filter(|site| is_named(site.city)) {
        let object = site.deployment.ok_or_else(|| Refusal::NotDeployed(site.city.to_owned()))?;
        targets.push(Target { kind: Kind::WorkloadDeployment, object, city: site.city });
    }
    there.retain(|city| is_named(city));
    Ok(Restart { targets, patch, cities: there })
}
