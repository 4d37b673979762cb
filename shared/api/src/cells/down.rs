//! Which cells are down, and since when (U2).

use std::fmt;

use fedhub_core::names::LOST;
use fedhub_core::object::{Object, ObjectView};

use super::declaration::lost_since;
use crate::conditions::find;
use crate::reason::{Reason, attributed};

/// A cell that Karmada does not reach, or that is declared lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellDown {
    /// The Cluster's name.
    pub cell: String,
    /// When the cell went down, as a time for people.
    pub since: String,
    /// Whether an operator declared it lost.
    pub lost: bool,
}

impl CellDown {
    /// Returns how a cell is down, as the hub says. A cell of which it says nothing yet is not considered
    /// down.
    pub fn from_cluster(cluster: &Object) -> Option<Self> {
        let cell = cluster.name().to_owned();
        if lost_since(cluster).is_some() {
            let since = cluster.annotation(LOST).unwrap_or_default().to_owned();
            return Some(Self { cell, since, lost: true });
        }
        let ready = find(cluster.status(), "Ready").filter(|ready| ready["status"] != "True")?;
        let since = ready["lastTransitionTime"].as_str().unwrap_or("an unknown time").to_owned();
        Some(Self { cell, since, lost: false })
    }

    /// The status of a condition that was True when the cell was last heard of.
    pub fn status(&self) -> &'static str {
        if self.lost { "False" } else { "Unknown" }
    }
}

/// Whether the hub says that a cell is reached; `None` where it says nothing of it yet.
pub fn is_reachable(cluster: &Object) -> Option<bool> {
    if CellDown::from_cluster(cluster).is_some() {
        return Some(false);
    }
    find(cluster.status(), "Ready").map(|_| true)
}

impl fmt::Display for CellDown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cell, since, lost } = self;
        let (blamed, said) = if *lost {
            (Reason::CellLost, format!("the cell {cell} is lost since {since}: what ran there is gone"))
        } else {
            let said =
                format!("the cell {cell} has not been ready since {since}: what runs there is not known");
            (Reason::CellUnreachable, said)
        };
        f.write_str(&attributed(blamed, &said))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use fedhub_core::object::set_field;

    use super::*;
    use crate::cells::lost::tests::cluster;

    #[test]
    fn u2_a_cell_is_down_where_karmada_or_an_operator_says_so_and_not_where_nobody_says_anything() {
        let of = |status: Value, lost| {
            let mut cluster = Object::clone(&cluster("cell-1", "", lost));
            set_field(&mut cluster, "status", status);
            CellDown::from_cluster(&cluster)
        };
        let ready = |status: &str| {
            json!({"conditions": [
                {"type": "Ready", "status": status, "lastTransitionTime": "2026-01-02T00:00:00Z"},
            ]})
        };
        let reachable = |status: Value, lost| {
            let mut cluster = Object::clone(&cluster("cell-1", "", lost));
            set_field(&mut cluster, "status", status);
            is_reachable(&cluster)
        };
        assert_eq!(reachable(json!(null), None), None);
        assert_eq!(reachable(ready("True"), None), Some(true));
        assert_eq!(reachable(ready("Unknown"), None), Some(false));
        assert_eq!(reachable(ready("True"), Some("2026-01-03T00:00:00Z")), Some(false));
        assert_eq!(of(json!(null), None), None);
        assert_eq!(of(ready("True"), None), None);
        assert_eq!(of(ready("True"), Some("soon")), None);
        for status in ["False", "Unknown"] {
            let down = of(ready(status), None).unwrap();
            let words = down.to_string();
            assert!(
                !down.lost && words.contains("cell-1") && words.contains("2026-01-02T00:00:00Z"),
                "{words}"
            );
        }
        let down = of(ready("True"), Some("2026-01-03T00:00:00Z")).unwrap();
        assert!(down.lost && down.to_string().contains("lost since 2026-01-03T00:00:00Z"), "{down}");
    }
}
