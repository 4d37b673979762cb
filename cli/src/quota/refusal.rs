//! What was refused for want of quota: by the claims, which name the resource, and by the Instances, which
//! wait.

use std::collections::BTreeSet;

use fedhub_api::conditions::find;
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::unit::{Unit, short};
use crate::instances::state::is_refused_quota;
use crate::instances::view::Row;
use crate::view::UNKNOWN;
use crate::view::condition::Finding;
use crate::view::number::number;
use crate::view::text::wrapped;

/// A resource that an Instance did not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The Instance.
    pub instance: String,
    /// The code of its city.
    pub city: Option<String>,
    /// The resource; unknown where the claim does not say.
    pub resource: String,
    /// How much was asked for, with the unit.
    pub asked: String,
    /// Why it was refused.
    pub why: String,
    /// Who has to act, and how.
    action: String,
}

/// Whether a claim is for an Instance. Each cell has one of its own for the Instances of a name.
fn is_for(claim: &Object, instance: &str) -> bool {
    let of = &claim.spec()["resourceRef"];
    of["kind"] == "Instance" && of["name"] == instance
}

/// Returns the refusals of these Instances. An Instance says that it is refused; its claim says which
/// resource was short.
pub fn refusals(rows: &[Row<'_>], claims: &[Object], registrations: &[Object]) -> Vec<Refusal> {
    let refused = rows.iter().filter(|row| is_refused_quota(row.object));
    refused.flat_map(|row| of_instance(row, claims, registrations)).collect()
}

fn of_instance(row: &Row<'_>, claims: &[Object], registrations: &[Object]) -> Vec<Refusal> {
    let condition = find(row.object.status(), "QuotaGranted").unwrap_or(&Value::Null);
    let finding = Finding::from_condition(condition);
    let refusal = |resource: &str, asked: String, why: &str| Refusal {
        instance: row.object.name().to_owned(),
        city: row.place.city.map(str::to_owned),
        resource: resource.to_owned(),
        asked,
        why: why.trim_end_matches('.').to_owned(),
        action: finding.action(),
    };
    let own = claims.iter().filter(|claim| is_for(claim, row.object.name()));
    let short_of: Vec<_> = own.flat_map(denied).collect();
    if short_of.is_empty() {
        return vec![refusal(UNKNOWN, UNKNOWN.to_owned(), &finding.what)];
    }
    short_of
        .into_iter()
        .map(|(resource, asked, why)| {
            let unit = Unit::new(resource, registrations);
            refusal(resource, unit.with_name(asked), why.filter(|it| !it.is_empty()).unwrap_or(&finding.what))
        })
        .collect()
}

/// The resources of a claim that were not granted: with the amount that was asked for, and why.
fn denied(claim: &Object) -> Vec<(&str, Option<i64>, Option<&str>)> {
    let allocations = claim.status()["allocations"].as_array().into_iter().flatten();
    let not_granted = allocations.filter(|it| it["status"] == "Denied");
    let requests = claim.spec()["requests"].as_array();
    let asked = |kind: &Value| {
        requests
            .into_iter()
            .flatten()
            .find(|it| it["resourceType"] == *kind)
            .and_then(|it| number(it, "amount"))
    };
    not_granted
        .filter_map(|it| {
            Some((short(it["resourceType"].as_str()?), asked(&it["resourceType"]), it["message"].as_str()))
        })
        .collect()
}

/// Says who has to act on the refusals, and how, each once.
pub fn advice(refused: &[Refusal], width: Option<usize>) -> String {
    let actions: BTreeSet<&str> = refused.iter().map(|it| it.action.as_str()).collect();
    let lines = actions.into_iter().map(|action| wrapped(action, 0, width));
    lines.collect::<Vec<_>>().join("\n")
}

/// Refusals for programs.
pub fn json(refused: &[Refusal]) -> Value {
    let known = |text: &str| Some(text.to_owned()).filter(|it| it != UNKNOWN);
    let one = |it: &Refusal| {
        json!({
            "instance": it.instance,
            "location": it.city,
            "resource": known(&it.resource),
            "asked": known(&it.asked),
            "why": it.why,
            "action": it.action,
        })
    };
    refused.iter().map(one).collect()
}
