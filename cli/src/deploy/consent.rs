//! Whether a deployment is carried out, asked about, or given up: there is no question without a terminal.

use super::plan::DeployPlan;
use super::view;

/// The remedy where a question has no terminal to be asked on.
pub const NEEDS_YES: &str = "There is no terminal to ask on: pass --yes to go ahead.";

/// The consent that the plans need before anything is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Nothing: they are carried out.
    Given,
    /// An answer to a question, and what Return alone means.
    Ask(&'static str, bool),
    /// A yes that only --yes can give: what it would be for.
    Needed(String),
}

/// Decides what is needed. `yes` is `--yes`.
pub fn needed(plans: &[DeployPlan], yes: bool, can_ask: bool) -> Consent {
    let leaves: Vec<_> = plans.iter().filter_map(view::leaves).collect();
    if yes || plans.iter().all(DeployPlan::is_noop) {
        return Consent::Given;
    }
    match (can_ask, leaves.is_empty()) {
        (true, true) => Consent::Ask("Deploy this?", true),
        (true, false) => Consent::Ask("Deploy this, and delete those instances?", false),
        (false, true) => Consent::Given,
        (false, false) => Consent::Needed(leaves.join(" ")),
    }
}
