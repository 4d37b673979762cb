//! Steps of the decision that the federator's own plan makes: whether it carries the WD over, and what it has
//! still to do for it.

use fedhub_core::names::{CITY_CODE, FEDERATION_NAMESPACE, HUB_NAMESPACE_UID};
use fedhub_core::object::{Kind, ObjectView};
use fedhub_engine::{DraftPart, Intent, Plan};
use fedhub_federator::loss;
use fedhub_federator::plan::plan;
use fedhub_federator::refusal::{Conflict, Refusal, Remnant, refusal, remnant};
use fedhub_federator::render::render;
use fedhub_federator::snapshot::Snapshot;
use fedhub_planes::Write;

use super::super::cause::Cause;
use super::super::chain::{
    Chain, all, changed_at, condition_turned_at, created_at, deleted_at, path, reported_at, written_at,
};
use super::super::hop::Hop;
use super::super::plans;
use super::diagnosis::Diagnosis;
use crate::audit::compare::differ;
use crate::audit::compare::pairs::Pair;

/// Why the federator does not carry the WD over (I6, I10, I11).
pub fn kept_back(chain: &Chain) -> Option<Diagnosis> {
    let refusal = plans::ask(chain, |_, seen| refusal(&seen)).flatten()?;
    let cause = Cause::of_reason(Some(refusal.reason()));
    let (object, hop) = match &refusal {
        Refusal::FederationConflict(Conflict::Namespace) => (chain.hub.namespace.found(), Hop::HubNamespace),
        Refusal::FederationConflict(Conflict::Deployment) => (chain.hub.wd.found(), Hop::HubWd),
        // It is carried over all the same, and Karmada's hops tell how far a move is.
        Refusal::Moving(..)
        | Refusal::RefusedByCell(..)
        | Refusal::CellUnreachable(..)
        | Refusal::ServiceSuspended => return None,
        _ => (None, cause.hop()),
    };
    let cells = chain.clusters().map(ObjectView::name).collect::<Vec<_>>().join(", ");
    let evidence = match object {
        Some(object) => format!("{refusal}: {}", path(object)),
        None if cells.is_empty() => refusal.to_string(),
        None => format!("{refusal}: {cells}"),
    };
    Some(
        Diagnosis::blocked(
            cause,
            object.map_or_else(|| chain.wd().and_then(|wd| condition_turned_at(wd, "Available")), written_at),
            evidence,
        )
        .at(hop),
    )
}

/// The first thing that the federator has still to do for the WD.
pub fn federated(chain: &Chain) -> Option<Diagnosis> {
    plans::ask(chain, |pair, seen| to_do(chain, pair, &seen)).flatten()
}

fn to_do(chain: &Chain, pair: &Pair<'_>, seen: &Snapshot) -> Option<Diagnosis> {
    let wd = &pair.wd.object;
    let hub = &chain.hub;
    let since = changed_at(wd);
    let behind =
        |cause, hop, evidence: &str| Some(Diagnosis::fedhub_behind(chain, cause, hop, since, evidence));
    let Plan { intents, verdict } = plan(seen);
    if let Some(diagnosis) = unmarked(chain, pair, seen, &intents) {
        return Some(diagnosis);
    }
    match written(&intents, Kind::Namespace) {
        Some(Write::Create(_)) => {
            return behind(Cause::FederatorBehind, Hop::HubNamespace, "the hub namespace is not there yet");
        }
        Some(Write::Replace { .. }) => {
            let evidence = "the hub namespace lacks the labels that say whose it is";
            return behind(Cause::FederatorBehind, Hop::HubNamespace, evidence);
        }
        None => {}
    }
    if let Some(remnant) = remnant(seen) {
        let (cause, hop, object) = match remnant {
            Remnant::Namespace => (Cause::HubStateLost, Hop::HubNamespace, hub.namespace.found()),
            Remnant::Policy => (Cause::PolicyMissing, Hop::Policy, all(&hub.policies).first()),
            Remnant::Deployment => (Cause::FederatorBehind, Hop::HubWd, hub.wd.found()),
        };
        let evidence = format!("{remnant} is being deleted");
        return Some(Diagnosis::behind(chain, cause, hop, object.and_then(deleted_at), evidence));
    }
    // What a server makes of a spec, only who sent it remembers: no specs are compared.
    if matches!(written(&intents, Kind::PropagationPolicy), Some(Write::Create(_))) {
        let evidence =
            format!("no PropagationPolicy of the hub namespace carries {CITY_CODE}={}", chain.city());
        return behind(Cause::PolicyMissing, Hop::Policy, &evidence);
    }
    let draft = intents.iter().find_map(|intent| match intent {
        Intent::Render(draft) if draft.part == DraftPart::Object => Some(draft),
        _ => None,
    })?;
    let rendered = render(seen, verdict.as_ref(), draft, &pair.bodies())?;
    let Intent::Put { write: Write::Replace { object: wanted, .. }, .. } = rendered else {
        return behind(Cause::FederatorBehind, Hop::HubWd, "the hub WD is not there yet");
    };
    let difference = differ::metadata(&wanted, hub.wd.found()?).into_iter().next()?;
    let evidence = format!("the hub WD is not as fedhub writes it: {difference}");
    // The report of a cell may be what changes it.
    let since = since.max(hub.wd.found().and_then(reported_at));
    Some(Diagnosis::fedhub_behind(chain, Cause::FederatorBehind, Hop::HubWd, since, evidence))
}

/// What the federator has still to record on the WD, before it writes anything to the hub for it (I2).
fn unmarked(chain: &Chain, pair: &Pair<'_>, seen: &Snapshot, intents: &[Intent]) -> Option<Diagnosis> {
    let wd = &pair.wd.object;
    let behind = |cause, hop, evidence: &str| {
        Some(Diagnosis::fedhub_behind(chain, cause, hop, changed_at(wd), evidence))
    };
    let marked = intents.iter().find_map(|intent| match intent {
        Intent::Mark { finalizer, annotations, .. } => Some((finalizer.is_some(), annotations.as_slice())),
        _ => None,
    });
    let (adds_finalizer, annotations) = marked.unwrap_or_default();
    // What the WD has of an annotation that the plan writes.
    let replaced = |name: &str| {
        let writes = annotations.iter().any(|(key, _)| *key == name);
        writes.then(|| wd.annotation(name))
    };
    let named = replaced(FEDERATION_NAMESPACE);
    let recorded = replaced(HUB_NAMESPACE_UID);
    if adds_finalizer || named == Some(None) || recorded == Some(None) {
        return behind(Cause::FederatorBehind, Hop::ProjectWd, "the federator has not marked the WD yet");
    }
    if let Some(named) = named.flatten() {
        let evidence =
            format!("the WD names {named}, and the hub namespace of its project namespace is {}", pair.space);
        return behind(Cause::NamespaceRecreated, Hop::HubNamespace, &evidence);
    }
    if recorded.is_some() || seen.hub.is_none() && loss::stands(seen) {
        return Some(lost(chain, pair));
    }
    None
}

/// The write of an object of that kind on the hub.
fn written(intents: &[Intent], of: Kind) -> Option<&Write> {
    intents.iter().find_map(|intent| match intent {
        Intent::Put { kind, write, .. } if *kind == of => Some(write),
        _ => None,
    })
}

/// That the hub lost what it had of the WD (F9).
fn lost(chain: &Chain, pair: &Pair<'_>) -> Diagnosis {
    let wd = &pair.wd.object;
    let recorded = wd.annotation(HUB_NAMESPACE_UID).unwrap_or_default();
    let (since, evidence) = match chain.hub.namespace.found() {
        None => (changed_at(wd), format!("the hub namespace of the UID {recorded} is missing")),
        Some(namespace) if namespace.uid() == recorded => {
            (changed_at(wd), "the hub may have lost the hub WD".to_owned())
        }
        Some(namespace) => {
            let uid = namespace.uid();
            (created_at(namespace), format!("the hub namespace has the UID {uid}, the WD records {recorded}"))
        }
    };
    Diagnosis::fedhub_behind(chain, Cause::HubStateLost, Hop::HubNamespace, since, evidence)
}
