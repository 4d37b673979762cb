//! What has to be learned before it can be decided whose turn it is. Pure.
//!
//! A plane may store another template than it is sent, by its schema or by a mutating policy. A WD with such
//! a template looks as if it had been edited by hand: it is marked with a revision, and has another template
//! than that. Which of the two it is shows when it is put back: what the plane makes of that revision is not
//! written again (I7). Until this is known nothing is decided, so that no status says what is taken back in
//! the same pass, and no city is turned for it.

use fedhub_api::facts::Workload;
use fedhub_api::facts::carried::WantedTemplate;
use fedhub_rollout::{Carries, City, Revision};

use super::cities::Newest;
use super::snapshot::Snapshot;
use super::turns::Turns;

/// The turns by which it is learned what was edited by hand; `None` where this is known. All WDs but those
/// keep what they have. `is_allowed` tells whether a city may have the revision that its WD is marked with.
pub(super) fn unsettled(
    seen: &Snapshot,
    facts: &Workload,
    newest: &Newest<'_>,
    cities: &[City],
    is_allowed: impl Fn(&City, Revision) -> bool,
) -> Option<Turns> {
    let marked = |city: &City| match city.carries {
        Carries::Edited(revision) if can_be_learned(seen, city, revision) && is_allowed(city, revision) => {
            Some(revision)
        }
        Carries::Nothing | Carries::Unknown | Carries::Known(_) | Carries::Edited(_) => None,
    };
    if !cities.iter().any(|city| marked(city).is_some()) {
        return None;
    }
    let templates = cities.iter().map(|city| {
        let template = match (marked(city), city.carries) {
            (Some(revision), _) if revision == newest.revision() => {
                Some(WantedTemplate::Newest(facts.revision))
            }
            (Some(revision), _) => Some(WantedTemplate::Earlier(revision.0)),
            (None, Carries::Nothing) => None,
            (None, _) => Some(WantedTemplate::Kept),
        };
        (city.deployment.clone(), template)
    });
    Some(Turns { templates: templates.collect(), held: facts.held_revision, ..Turns::default() })
}

/// Whether putting a WD back tells whether it was edited.
fn can_be_learned(seen: &Snapshot, city: &City, revision: Revision) -> bool {
    let is_going = seen.deployments.get(&*city.deployment).is_none_or(|digest| digest.terminating);
    let is_refused = seen.learnt.refused.contains_key(&*city.deployment);
    !is_going && !is_refused && !seen.learnt.forgotten.contains(&revision.0)
}
