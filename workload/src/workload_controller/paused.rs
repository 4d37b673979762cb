//! The conditions of a Workload whose rollout is paused (W3).

use std::collections::BTreeSet;

use fedhub_api::facts::workload::paused_message;
use fedhub_api::reason::Reason;
use fedhub_core::message::{Quoted, named};

use super::snapshot::{Site, SiteState, Snapshot};

/// The status, reason and message of a condition.
pub type Said = (&'static str, Reason, String);

/// The condition `Progressing` of a Workload whose rollout is paused; `said` is what it would be else. Where
/// something is held back it is Unknown: neither under way nor complete. Where nothing is, the status stands.
pub fn progressing<'a>(
    seen: &Snapshot,
    sites: impl Iterator<Item = (&'a Site<'a>, &'a SiteState<'a>)>,
    said: Said,
) -> Said {
    let mut templates = BTreeSet::new();
    let mut cities = BTreeSet::new();
    for (site, state) in sites {
        let city = || Quoted(site.wanted.city).to_string();
        if matches!(state, SiteState::Withheld) {
            cities.insert(city());
        } else if state.placed().is_some_and(|placed| !seen.has_newest(site, placed)) {
            templates.insert(city());
        }
    }
    let names = |cities: BTreeSet<String>| named(&cities.into_iter().collect::<Vec<_>>());
    let templates = names(templates).map(|cities| format!("a new template in {cities}"));
    let cities = names(cities).map(|cities| format!("new deployments in {cities}"));
    let held: Vec<_> = templates.into_iter().chain(cities).collect();
    if held.is_empty() {
        let (status, _, message) = said;
        return (status, Reason::RolloutPaused, paused_message(&format!(". {message}")));
    }
    let details = format!(", which holds back {}", held.join(" and "));
    ("Unknown", Reason::RolloutPaused, paused_message(&details))
}
