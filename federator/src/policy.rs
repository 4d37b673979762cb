//! A PropagationPolicy that no WD uses any more (F7).
//!
//! It goes when no WD on the hub and no WD on its way there uses its city, and that has been so for a quiet
//! time. Should a WD come at that very moment, the policy's own event brings it a new one.
//!
//! Decides F7.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fedhub_api::facts::{Digest, DigestExt};
use fedhub_cache::digest::Uid;
use fedhub_core::object::{Object, ObjectView};
use parking_lot::Mutex;
use tokio::time::Instant;

/// The decision about a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyVerdict {
    /// The policy is used, or not ours to judge.
    Keep,
    /// Unused, but not for long enough.
    RequeueAfter(Duration),
    /// Unused for the whole quiet time.
    Delete,
}

/// Whether a WD uses a city's policy: one on the hub, or one of the project plane on its way there.
pub fn uses(wd: &Digest, code: &str, on_hub: bool) -> bool {
    wd.city() == Some(code) && (on_hub || !wd.terminating)
}

/// When policies became unused, by UID.
#[derive(Default)]
pub struct UnusedPolicies(Mutex<BTreeMap<Uid, Instant>>);

impl UnusedPolicies {
    /// Judges `policy`, and remembers since when it is unused.
    pub fn judge(&self, policy: &Object, used: bool, quiet: Duration, now: Instant) -> PolicyVerdict {
        let mut since = self.0.lock();
        let uid = Uid::new(policy.uid());
        if used || policy.is_terminating() {
            since.remove(&uid);
            return PolicyVerdict::Keep;
        }
        let unused = now.saturating_duration_since(*since.entry(uid.clone()).or_insert(now));
        if let Some(left) = quiet.checked_sub(unused).filter(|left| !left.is_zero()) {
            return PolicyVerdict::RequeueAfter(left);
        }
        since.remove(&uid);
        PolicyVerdict::Delete
    }

    /// Forgets all policies but these, by UID.
    pub fn keep(&self, stand: &BTreeSet<Uid>) {
        let mut since = self.0.lock();
        since.retain(|uid, _| stand.contains(uid));
    }

    /// How many policies are unused.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Forgets a policy that is gone.
    pub fn forget(&self, policy: &Uid) {
        self.0.lock().remove(policy);
    }
}

#[cfg(test)]
mod tests {
    use fedhub_core::names::{CITY_CODE, PlaneName};
    use fedhub_core::object::{Kind, PlaneId, bare, set_field};
    use serde_json::json;

    use super::*;

    fn policy() -> Object {
        let mut policy = bare(Kind::PropagationPolicy, "ns-1", "city-dfw");
        policy.metadata.uid = Some("p".to_owned());
        policy.metadata.labels = Some([(CITY_CODE.to_owned(), "DFW".to_owned())].into());
        policy
    }

    fn deployment(plane: &PlaneId, city: &str, terminating: bool) -> Digest {
        let mut wd = bare(Kind::WorkloadDeployment, "default", "wd");
        if *plane == PlaneId::Hub {
            wd.metadata.labels = Some([(CITY_CODE.to_owned(), city.to_owned())].into());
        } else {
            set_field(&mut wd, "spec", json!({"cityCode": city}));
        }
        wd.metadata.deletion_timestamp = terminating
            .then_some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH));
        Digest::new(plane, Kind::WorkloadDeployment, &wd)
    }

    #[test]
    fn f7_a_policy_is_used_by_wds_on_the_hub_and_on_their_way() {
        let project = PlaneId::Project(PlaneName::new("alpha").unwrap());
        for (plane, city, deleting, expected) in [
            (&PlaneId::Hub, "DFW", false, true),
            (&PlaneId::Hub, "DFW", true, true), // still on the hub
            (&PlaneId::Hub, "ORD", false, false),
            (&project, "DFW", false, true),
            (&project, "DFW", true, false), // on its way out
            (&project, "ORD", false, false),
        ] {
            let wd = deployment(plane, city, deleting);
            assert_eq!(uses(&wd, "DFW", *plane == PlaneId::Hub), expected, "{plane} {city} {deleting}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn f7_a_policy_goes_after_the_whole_quiet_time() {
        let quiet = UnusedPolicies::default();
        let span = Duration::from_secs(10);
        let judge = |used| quiet.judge(&policy(), used, span, Instant::now());
        assert_eq!(judge(false), PolicyVerdict::RequeueAfter(span));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(judge(false), PolicyVerdict::RequeueAfter(Duration::from_secs(1)));
        assert_eq!(judge(true), PolicyVerdict::Keep, "a sibling came");
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(judge(false), PolicyVerdict::RequeueAfter(span), "the time begins anew");
        tokio::time::advance(span).await;
        assert_eq!(judge(false), PolicyVerdict::Delete);
    }
}
