//! Which deployments are in which wave: each in exactly one (R1).

use std::collections::{BTreeMap, BTreeSet};

use fedhub_api::RolloutWave;
use fedhub_core::message::Quoted;

use crate::admission::fault::Faults;
use crate::admission::path::Path;

/// A deployment of a Workload, as waves select it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deployment<'a> {
    /// Its name.
    pub name: &'a str,
    /// The name of its placement.
    pub placement: &'a str,
    /// The code of its city.
    pub city: &'a str,
}

/// What a wave selects by. An empty list selects everything; with both empty, the wave takes what is left.
struct Selector<'a> {
    /// The codes of cities in lower case, with their places in the list.
    cities: BTreeMap<String, usize>,
    placements: BTreeSet<&'a str>,
}

impl<'a> Selector<'a> {
    fn new(wave: &'a RolloutWave) -> Self {
        let cities = wave.cities.iter().flatten().enumerate().map(|(i, city)| (city.to_lowercase(), i));
        Self {
            cities: cities.collect(),
            placements: wave.placements.iter().flatten().map(|it| &**it).collect(),
        }
    }

    fn is_rest(&self) -> bool {
        self.cities.is_empty() && self.placements.is_empty()
    }

    fn takes(&self, placement: &str, city: &str) -> bool {
        let in_city = self.cities.is_empty() || self.cities.contains_key(city);
        in_city && (self.placements.is_empty() || self.placements.contains(placement))
    }

    /// What both select whatever the Workload is: what they share of one list, where the other one does not
    /// keep them apart.
    fn shared<'b>(&'b self, other: &'b Selector<'_>) -> Option<&'b str> {
        let city = self.cities.keys().find(|city| other.cities.contains_key(*city));
        let placement = self.placements.iter().find(|it| other.placements.contains(*it));
        let meets_in_cities = self.cities.is_empty() || other.cities.is_empty() || city.is_some();
        let meets_in_placements =
            self.placements.is_empty() || other.placements.is_empty() || placement.is_some();
        (meets_in_cities && meets_in_placements)
            .then(|| city.map(String::as_str).or(placement.copied()))
            .flatten()
    }
}

/// Adds the faults of waves that cannot be apart whatever the Workload is.
pub fn check_apart(waves: &[RolloutWave], at: &Path, faults: &mut Faults) {
    let selectors: Vec<_> = waves.iter().map(Selector::new).collect();
    let mut has_rest = false;
    for (i, selector) in selectors.iter().enumerate() {
        let path = at.item(i, &waves[i].name);
        if selector.is_rest() {
            if has_rest {
                let rule = "one wave takes all that is left: name cities or placements in the others";
                faults.invalid(path, &waves[i].name, rule);
            }
            has_rest = true;
            continue;
        }
        if let Some(shared) = selectors[..i].iter().find_map(|earlier| selector.shared(earlier)) {
            faults.duplicate(path, shared, "an earlier wave has it: each deployment is in exactly one wave");
        }
    }
}

/// The names of the deployments in each wave, in the order of its cities, or else of the Workload's
/// placements.
pub fn members(
    waves: &[RolloutWave],
    deployments: &[Deployment<'_>],
    at: &Path,
    faults: &mut Faults,
) -> Vec<Vec<Box<str>>> {
    let selectors: Vec<_> = waves.iter().map(Selector::new).collect();
    let rest = selectors.iter().position(Selector::is_rest);
    let mut members: Vec<Vec<(usize, Box<str>)>> = vec![Vec::new(); waves.len()];
    for deployment in deployments {
        let city = deployment.city.to_lowercase();
        let mut taking = (0..waves.len())
            .filter(|i| !selectors[*i].is_rest() && selectors[*i].takes(deployment.placement, &city));
        match (taking.next(), taking.next(), rest) {
            (Some(first), Some(second), _) => {
                let path = at.item(second, &waves[second].name);
                let other = Quoted(&waves[first].name);
                let rule = format!("it is in the wave {other} too: each deployment is in exactly one wave");
                faults.duplicate(path, deployment.name, &rule);
            }
            (Some(wave), None, _) => {
                let place = selectors[wave].cities.get(&city).copied().unwrap_or_default();
                members[wave].push((place, deployment.name.into()));
            }
            (None, _, Some(rest)) => members[rest].push((0, deployment.name.into())),
            (None, _, None) => {
                let rule = format!(
                    "this deployment is in no wave: name its city {} or its placement {} in one, or add a wave \
                     with neither cities nor placements",
                    Quoted(deployment.city),
                    Quoted(deployment.placement),
                );
                faults.invalid(at.clone(), deployment.name, &rule);
            }
        }
    }
    check_known(waves, deployments, at, faults);
    members
        .into_iter()
        .map(|mut members| {
            members.sort_by_key(|(place, _)| *place);
            members.into_iter().map(|(_, name)| name).collect()
        })
        .collect()
}

/// Adds the faults of cities and placements that the Workload does not have: a misspelt canary is no canary.
fn check_known(waves: &[RolloutWave], deployments: &[Deployment<'_>], at: &Path, faults: &mut Faults) {
    let known: BTreeSet<_> = deployments.iter().map(|it| (it.city.to_lowercase(), it.placement)).collect();
    let cities: BTreeSet<_> = known.iter().map(|(city, _)| city.as_str()).collect();
    let placements: BTreeSet<_> = known.iter().map(|(_, placement)| *placement).collect();
    for (i, wave) in waves.iter().enumerate() {
        let at = at.item(i, &wave.name);
        let own: Vec<_> = wave.placements.iter().flatten().map(String::as_str).collect();
        for (j, placement) in own.iter().enumerate() {
            if !placements.contains(placement) {
                let path = at.field("placements").item(j, placement);
                faults.not_found(path, placement, "the workload has no placement of that name");
            }
        }
        for (j, city) in wave.cities.iter().flatten().enumerate() {
            let code = city.to_lowercase();
            let path = at.field("cities").item(j, city);
            if !cities.contains(code.as_str()) {
                faults.not_found(path, city, "no placement of the workload has this city");
            } else if !own.is_empty() && !own.iter().any(|it| known.contains(&(code.clone(), *it))) {
                faults.not_found(path, city, "none of the wave's placements has this city");
            }
        }
    }
}
