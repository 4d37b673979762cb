//! A PropagationPolicy that no WD uses any more (F7).
//!
//! It goes when no WD on the hub and no WD on its way there uses its city, and that has been so for a quiet time.
//! Should a WD come at that very moment, the policy's own event brings it a new one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fedhub_shared::names::CITY_CODE;
use fedhub_shared::object::{Object, ObjectView, Shared};
use tokio::time::Instant;

use crate::observe::city;

/// What to do with a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is used, or not ours to judge.
    Keep,
    /// Unused, but not for long enough.
    LookAgain(Duration),
    /// Unused for the whole quiet time.
    Delete,
}

/// Whether anybody uses the city of a policy: a WD on the hub, or a WD of the project plane on its way there.
pub fn used(policy: &Object, on_hub: &[Shared], on_project: &[Shared]) -> bool {
    let Some(code) = policy.label(CITY_CODE) else { return true };
    on_hub.iter().any(|wd| wd.label(CITY_CODE) == Some(code))
        || on_project.iter().any(|wd| !wd.deleting() && city(wd) == code)
}

/// Since when policies are unused, by UID.
#[derive(Default)]
pub struct Quiet(Mutex<BTreeMap<String, Instant>>);

impl Quiet {
    /// Judges `policy`, and remembers since when it is unused.
    pub fn judge(&self, policy: &Object, used: bool, quiet: Duration, now: Instant) -> Verdict {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if used || policy.deleting() {
            since.remove(policy.uid());
            return Verdict::Keep;
        }
        let unused = now.saturating_duration_since(*since.entry(policy.uid().to_owned()).or_insert(now));
        if let Some(left) = quiet.checked_sub(unused).filter(|left| !left.is_zero()) {
            return Verdict::LookAgain(left);
        }
        since.remove(policy.uid());
        Verdict::Delete
    }

    /// Forgets all policies but these, by UID.
    pub fn keep(&self, stand: &BTreeSet<&str>) {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        since.retain(|uid, _| stand.contains(uid.as_str()));
    }

    /// How many policies are unused.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets a policy that is gone.
    pub fn forget(&self, policy: &Object) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(policy.uid());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fedhub_shared::object::{Kind, bare, set_field};
    use serde_json::json;

    use super::*;

    fn policy() -> Object {
        let mut policy = bare(Kind::PropagationPolicy, "ns-1", "city-dfw");
        policy.metadata.uid = Some("p".to_owned());
        policy.metadata.labels = Some([(CITY_CODE.to_owned(), "DFW".to_owned())].into());
        policy
    }

    fn deployment(city: &str, deleting: bool) -> Shared {
        let mut wd = bare(Kind::WorkloadDeployment, "default", "wd");
        wd.metadata.labels = Some([(CITY_CODE.to_owned(), city.to_owned())].into());
        wd.metadata.deletion_timestamp = deleting
            .then_some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH));
        set_field(&mut wd, "spec", json!({"cityCode": city}));
        Arc::new(wd)
    }

    #[test]
    fn f7_a_policy_is_used_by_wds_on_the_hub_and_on_their_way() {
        let (dfw, ord) = (deployment("DFW", false), deployment("ORD", false));
        assert!(used(&policy(), std::slice::from_ref(&dfw), &[]));
        assert!(used(&policy(), &[], std::slice::from_ref(&dfw)));
        assert!(!used(&policy(), std::slice::from_ref(&ord), std::slice::from_ref(&ord)));
        assert!(used(&policy(), &[deployment("DFW", true)], &[]), "still on the hub");
        assert!(!used(&policy(), &[], &[deployment("DFW", true)]), "on its way out");
        let mut foreign = policy();
        foreign.metadata.labels = None;
        assert!(used(&foreign, &[], &[]), "a policy without a city is not ours to judge");
    }

    #[tokio::test(start_paused = true)]
    async fn f7_a_policy_goes_after_the_whole_quiet_time() {
        let (quiet, span) = (Quiet::default(), Duration::from_secs(10));
        let judge = |used| quiet.judge(&policy(), used, span, Instant::now());
        assert_eq!(judge(false), Verdict::LookAgain(span));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert_eq!(judge(false), Verdict::LookAgain(Duration::from_secs(1)));
        assert_eq!(judge(true), Verdict::Keep, "a sibling came");
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(judge(false), Verdict::LookAgain(span), "the time begins anew");
        tokio::time::advance(span).await;
        assert_eq!(judge(false), Verdict::Delete);
    }
}
