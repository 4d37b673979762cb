//! The status of a projection while its cell is down (C11, U2): `Ready` is unknown then, whatever was
//! reported last.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fedhub_api::cells::CellDown;
use fedhub_api::conditions::{explained, find, is_true, put};
use fedhub_api::facts::instance::city;
use fedhub_api::reason::Reason;
use fedhub_core::names::CITY_CODE;
use fedhub_core::object::{Object, ObjectRef, ObjectView};
use jiff::Timestamp;
use parking_lot::RwLock;
use serde_json::Value;

const READY: &str = "Ready";
/// How long Karmada has to miss a cell before its projections show that.
const PATIENCE: Duration = Duration::from_secs(5);

/// The status of the projection of an Instance with that `status`, where the projection has `current` now.
/// One that is not Ready says itself why.
pub fn projected_status<'a>(
    status: &'a Value,
    current: &Value,
    down: Option<&CellDown>,
    now: Timestamp,
) -> Cow<'a, Value> {
    let Some(down) = down.filter(|_| is_true(status, READY)) else { return Cow::Borrowed(status) };
    let mut projected = status.clone();
    let generation = find(status, READY).and_then(|ready| ready.get("observedGeneration")).cloned();
    let old = find(current, READY);
    let mut ready = explained(old, READY, down.status(), Reason::CellUnreachable, &down.to_string(), now);
    if let Some(generation) = generation {
        ready["observedGeneration"] = generation;
    }
    put(&mut projected, ready);
    Cow::Owned(projected)
}

/// The time until a cell counts as down.
pub fn too_early(down: &CellDown, now: Timestamp) -> Option<Duration> {
    let since: Timestamp = down.since.parse().ok().filter(|_| !down.lost)?;
    let age = Duration::try_from(now.duration_since(since)).ok()?;
    PATIENCE.checked_sub(age).filter(|left| !left.is_zero())
}

/// The cities with all cells down, by the hash that digests of Instances have of them.
#[derive(Default)]
pub struct UnreachableCities(RwLock<Arc<BTreeMap<u32, CellDown>>>);

impl UnreachableCities {
    /// The cell of that city, if it is down.
    pub fn get(&self, city: u32) -> Option<CellDown> {
        self.0.read().get(&city).cloned()
    }

    /// Learns from the Clusters. Returns the cities for which that changes anything.
    pub fn learn(&self, clusters: &[ObjectRef]) -> Vec<u32> {
        let now = Arc::new(cities_down(clusters));
        let mut known = self.0.write();
        let before = std::mem::replace(&mut *known, now.clone());
        let mut cities: Vec<u32> = before
            .keys()
            .chain(now.keys())
            .filter(|city| before.get(*city) != now.get(*city))
            .copied()
            .collect();
        cities.sort_unstable();
        cities.dedup();
        cities
    }
}

/// A city is down where all of its cells are.
fn cities_down(clusters: &[ObjectRef]) -> BTreeMap<u32, CellDown> {
    let mut cities: BTreeMap<u32, Option<CellDown>> = BTreeMap::new();
    for cluster in clusters {
        let cluster: &Object = cluster;
        let Some(code) = cluster.label(CITY_CODE) else { continue };
        let down = CellDown::from_cluster(cluster);
        cities.entry(city(Some(code))).and_modify(|all| *all = all.take().and(down.clone())).or_insert(down);
    }
    cities.into_iter().filter_map(|(city, down)| Some((city, down?))).collect()
}

#[cfg(test)]
mod tests {
    use fedhub_core::object::{Kind, bare, set_field};
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn cluster(name: &str, code: &str, ready: &str) -> ObjectRef {
        let mut cluster = bare(Kind::Cluster, "", name);
        cluster.metadata.labels = Some([(CITY_CODE.to_owned(), code.to_owned())].into());
        let ready = json!({"type": "Ready", "status": ready, "lastTransitionTime": "1970-01-01T00:00:10Z"});
        set_field(&mut cluster, "status", json!({"conditions": [ready]}));
        Arc::new(cluster)
    }

    fn ready(status: &str) -> Value {
        json!({"conditions": [
            {"type": "Ready", "status": status, "reason": "R", "message": "", "lastTransitionTime": "1970-01-01T00:00:00Z", "observedGeneration": 4},
            {"type": "Available", "status": "True"},
        ], "other": 1})
    }

    #[test]
    fn c11_what_is_ready_in_a_cell_that_is_down_is_not_known_to_be() {
        let down = CellDown::from_cluster(&cluster("cell-1", "DFW", "False"));
        assert_eq!(*projected_status(&ready("True"), &json!({}), None, NOW), ready("True"));
        for not_ready in ["False", "Unknown"] {
            assert_eq!(
                *projected_status(&ready(not_ready), &json!({}), down.as_ref(), NOW),
                ready(not_ready)
            );
        }
        let first = projected_status(&ready("True"), &ready("True"), down.as_ref(), NOW).into_owned();
        let says = find(&first, READY).unwrap();
        assert_eq!((&says["status"], &says["reason"]), (&json!("Unknown"), &json!("CellUnreachable")));
        assert!(says["message"].as_str().unwrap().contains("cell-1") && says["observedGeneration"] == 4);
        assert_eq!((&first["other"], find(&first, "Available").is_some()), (&json!(1), true), "I1");
        let later = NOW + Duration::from_mins(1);
        assert_eq!(
            *projected_status(&ready("True"), &first, down.as_ref(), later),
            first,
            "I7: its time stays"
        );
    }

    #[test]
    fn c11_a_moment_is_nothing_to_tell_of() {
        let down = CellDown::from_cluster(&cluster("cell-1", "DFW", "False")).unwrap();
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(too_early(&down, at(12)), Some(Duration::from_secs(3)));
        assert_eq!((too_early(&down, at(15)), too_early(&down, at(3))), (None, None));
        assert_eq!(too_early(&CellDown { lost: true, ..down }, at(12)), None);
    }

    #[test]
    fn i10_a_city_is_down_where_all_of_its_cells_are() {
        let dfw = city(Some("DFW"));
        let ord = city(Some("ORD"));
        let known = UnreachableCities::default();
        assert!(known.learn(&[cluster("a", "DFW", "True"), cluster("b", "ORD", "True")]).is_empty());
        assert_eq!(known.learn(&[cluster("a", "DFW", "False"), cluster("b", "ORD", "True")]), [dfw]);
        assert!(known.get(dfw).is_some() && known.get(ord).is_none());
        assert!(known.learn(&[cluster("a", "DFW", "False")]).is_empty());
        assert_eq!(known.learn(&[cluster("a", "DFW", "False"), cluster("c", "DFW", "True")]), [dfw]);
        assert!(known.get(dfw).is_none());
    }
}
