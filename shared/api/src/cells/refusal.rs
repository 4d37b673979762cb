//! Why an object is not in its cell, as Karmada tells it (C9), and for how long it may be on its way there.
//!
//! Karmada's message is the answer of the cell's API server or of its own client, with users, addresses and
//! names of the cell in it. A tenant reads what is about the object alone; the whole is on the hub, for the
//! operator.

use std::fmt;
use std::time::Duration;

use fedhub_core::errors::{self, RequestError};
use fedhub_core::message::shortened;
use serde_json::Value;

use crate::reason::{Reason, attributed};

/// The longest piece of an answer of a cell's admission in a message, in characters.
const ANSWER_MAX: usize = 256;
/// The beginning of an API server's answer that names the account that lacks a right.
const ACCOUNT: &str = "forbidden: User ";
/// How long a cell may take to report on a generation before its condition says that it has not.
pub const REPORT_DEADLINE: Duration = Duration::from_mins(5);

/// Why Karmada cannot apply an object in a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellRefusal {
    /// An object of that name is there, and is not the hub's.
    Occupied,
    /// The cell's admission or validation refuses it, in these words.
    Denied(String),
    /// Karmada lacks a right there.
    Forbidden,
    /// Any other failure.
    Failed,
}

/// The words of an admission webhook or policy in the message of an API server that refused a request for
/// them.
pub fn denial(message: &str) -> Option<&str> {
    let marks = [" denied the request: ", " denied request: "];
    marks.iter().find_map(|mark| message.split_once(mark)).map(|(_, words)| words)
}

/// A request that failed, with its answer, as a tenant may read it: the names of accounts are the operator's.
pub fn readable(error: &RequestError) -> String {
    let answer = errors::chain(error);
    if answer.contains(ACCOUNT) && denial(&answer).is_none() {
        return format!("{error}: fedhub lacks the permission");
    }
    answer
}

impl CellRefusal {
    /// Reads an item of `aggregatedStatus`; `None` if it names no failure.
    pub fn from_item(item: &Value) -> Option<Self> {
        let message = item["appliedMessage"].as_str().filter(|message| !message.is_empty())?;
        (item["applied"] != true).then(|| Self::of_message(message))
    }

    fn of_message(message: &str) -> Self {
        let after = |mark: &str| message.split_once(mark).map(|(_, words)| words);
        if message.contains(" already exists in the cluster ") {
            return Self::Occupied;
        }
        // Any webhook's or policy's own words come first: they may have the other marks in them.
        if let Some(words) = denial(message) {
            return Self::Denied(shortened(words, ANSWER_MAX).into_owned());
        }
        if message.contains(ACCOUNT) {
            return Self::Forbidden;
        }
        match after(" is invalid: ").or_else(|| after(" is forbidden: ")) {
            Some(words) => Self::Denied(shortened(words, ANSWER_MAX).into_owned()),
            None => Self::Failed,
        }
    }
}

impl fmt::Display for CellRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Occupied => {
                f.write_str("the cell has an object of this name that the federation hub did not create")
            }
            Self::Denied(words) => write!(f, "the cell refuses it: {words:?}"),
            Self::Forbidden => f.write_str("the federation hub lacks the permission to write it in the cell"),
            Self::Failed => f.write_str("the federation hub fails to apply it in the cell"),
        }
    }
}

/// Why an object does not reach its cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hold {
    /// The cell refuses it.
    Refused(CellRefusal),
    /// The object has been on its way for longer than [`REPORT_DEADLINE`], and Karmada names no reason.
    Unknown,
}

impl Hold {
    /// Returns what holds an object that has been on its way to its cell for `waited`: the refusal that
    /// Karmada reports, or [`Self::Unknown`] after [`REPORT_DEADLINE`].
    pub fn from_refusal(refusal: Option<CellRefusal>, waited: Duration) -> Option<Self> {
        refusal.map(Self::Refused).or_else(|| (waited >= REPORT_DEADLINE).then_some(Self::Unknown))
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = REPORT_DEADLINE.as_secs() / 60;
        match self {
            Self::Refused(refusal) => f.write_str(&attributed(Reason::RefusedByCell, &refusal.to_string())),
            // Without a reason, so that the operator acts if it lasts.
            Self::Unknown => f.write_str(&attributed(
                None,
                &format!("the cell has not reported for more than {minutes} minutes, and what holds it is not known"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::message::MESSAGE_MAX;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const ALL: &str = "Failed to apply all manifests (0/1): ";

    fn of(message: &str) -> Option<CellRefusal> {
        CellRefusal::from_item(&json!({"clusterName": "cell-dfw", "appliedMessage": message}))
    }

    #[test]
    fn c9_what_a_cell_refuses_is_told_in_words_about_the_object_alone() {
        let denied = |words: &str| Some(CellRefusal::Denied(words.to_owned()));
        let web = "workloaddeployments.compute.datumapis.com \"web\" is forbidden: ";
        for (message, expected) in [
            (
                "resource(kind=WorkloadDeployment, ns-1/web) already exists in the cluster cell-dfw and the \
                 work.karmada.io/conflict-resolution strategy value is empty, Karmada will not manage this resource"
                    .to_owned(),
                Some(CellRefusal::Occupied),
            ),
            (
                format!("{web}ValidatingAdmissionPolicy 'freeze' with binding 'freeze' denied request: no changes"),
                denied("no changes"),
            ),
            ("admission webhook \"a.b\" denied the request: no: User \"x\"".to_owned(), denied("no: User \"x\"")),
            (
                "WorkloadDeployment.compute.datumapis.com \"web\" is invalid: spec.x: Required value".to_owned(),
                denied("spec.x: Required value"),
            ),
            (format!("{web}exceeded quota: small"), denied("exceeded quota: small")),
            (
                format!("{web}User \"system:serviceaccount:karmada:cell\" cannot create resource"),
                Some(CellRefusal::Forbidden),
            ),
            (
                "workloaddeployments.compute.datumapis.com is forbidden: User \"karmada\" cannot create".to_owned(),
                Some(CellRefusal::Forbidden),
            ),
            (
                "failed calling webhook \"a.b\": Post \"https://10.0.0.1/x\": dial tcp 10.0.0.1:443".to_owned(),
                Some(CellRefusal::Failed),
            ),
            (String::new(), None),
        ] {
            let whole = if message.is_empty() { String::new() } else { format!("{ALL}{message}") };
            let refusal = of(&whole);
            assert_eq!(refusal, expected, "{message}");
            let shown = refusal.map_or_else(String::new, |it| Hold::Refused(it).to_string());
            let inner = ["cell-dfw", "serviceaccount", "karmada", "10.0.0.1", "webhook", "freeze"];
            assert_eq!(inner.iter().find(|word| shown.contains(**word)), None, "{shown}");
        }
        let applied = json!({"applied": true, "appliedMessage": format!("{ALL}{web}exceeded quota")});
        assert_eq!(CellRefusal::from_item(&applied), None, "of an earlier attempt");
    }

    #[test]
    fn u2_a_wait_for_a_cell_has_a_deadline() {
        let second = Duration::from_secs(1);
        for (refusal, waited, expected) in [
            (None, REPORT_DEADLINE.saturating_sub(second), None),
            (None, REPORT_DEADLINE, Some(Hold::Unknown)),
            (Some(CellRefusal::Occupied), second, Some(Hold::Refused(CellRefusal::Occupied))),
            (Some(CellRefusal::Failed), REPORT_DEADLINE, Some(Hold::Refused(CellRefusal::Failed))),
        ] {
            assert_eq!(Hold::from_refusal(refusal.clone(), waited), expected, "{refusal:?} {waited:?}");
        }
    }

    proptest! {
        #[test]
        fn i15_no_answer_of_a_cell_steers_a_terminal_or_crowds_out_who_acts(words in "\\PC{0,40}[\u{0}-\u{1f}\u{202e}]\\PC{0,2000}") {
            let shown = Hold::Refused(of(&format!("{ALL}a denied request: {words}")).unwrap()).to_string();
            prop_assert!(!shown.contains(|c: char| c.is_control() || c == '\u{202e}'), "{shown}");
            prop_assert!(shown.contains("Action required by the platform operator: "));
            prop_assert!(shown.chars().count() <= MESSAGE_MAX + ANSWER_MAX * 10);
        }
    }
}
