//! Access reviews on the plane that a request comes from: whether its user may use a network, and whether
//! that user is fedhub.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use fedhub_core::errors;
use fedhub_core::metrics::Metrics;
use fedhub_core::names::PlaneName;
use fedhub_planes::discovery::{Discovery, single};
use fedhub_planes::{Plane, Planes};
use fedhub_workload::admission::{Fault, Judgement, NetworkUse, OwnAnnotation};
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, UserInfo};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::{Api, PostParams};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use super::review::Review;
use super::route::Route;
use super::unasked::Unasked;
use super::verdict::Verdict;
use crate::places::Places;
use crate::secure::cache::{Cache, Digest, digest};
use crate::secure::gate::{about, is_allowed};

/// How long an answer that allows stands (W4: at most 10 s). A denial does not: who is given a right uses it
/// at once.
const STANDS: Duration = Duration::from_secs(10);
/// How many answers are remembered.
const REMEMBERED: usize = 4096;
/// How many reviews may wait for one plane at once: a quarter of the requests that fedhub may have in flight
/// there, so that whoever has many reviews asked keeps no work of fedhub's own waiting. A plane that answers
/// within 10 ms serves more than a thousand reviews a second with that.
const WAITING: usize = 16;
/// The group whose members may do anything on a plane.
const MASTERS: &str = "system:masters";
/// Follows each denial if the caller is not to learn whether the plane exists.
const MAY_BE_UNASKED: &str = "fedhub answers so too where it cannot ask the project's plane: if the user has the right, try \
                              again, and else ask the operator for `fedhub planes`";
/// The extras by which a Milo says for which project a request is.
const PARENT: (&str, &str) = ("iam.miloapis.com/parent-type", "iam.miloapis.com/parent-name");

/// Asks planes, and remembers what they allowed.
pub struct Access {
    planes: Arc<Planes>,
    allowed: Mutex<Cache<Digest, ()>>,
    /// The user that fedhub is on each plane.
    own: Mutex<Cache<PlaneName, String>>,
    metrics: Metrics,
    /// The error that was logged last of each plane that cannot be asked.
    failures: Mutex<BTreeMap<PlaneName, String>>,
    waiting: Places<PlaneName>,
}

impl Access {
    /// Creates the access reviews on the planes of that registry.
    pub fn new(planes: Arc<Planes>, metrics: Metrics) -> Self {
        Self {
            planes,
            allowed: Mutex::new(Cache::with_capacity(REMEMBERED)),
            own: Mutex::new(Cache::with_capacity(REMEMBERED)),
            metrics,
            failures: Mutex::default(),
            waiting: Places::new(WAITING),
        }
    }

    /// Sets how many answers are remembered.
    #[cfg(test)]
    pub fn remembering(self, most: usize) -> Self {
        Self { allowed: Mutex::new(Cache::with_capacity(most)), ..self }
    }

    /// The verdict on an object until `end`: its faults, and what the plane says about its user.
    pub async fn answer(
        &self,
        origin: &Origin<'_>,
        request: &Review,
        judgement: Judgement,
        end: Instant,
    ) -> Verdict {
        let Judgement { mut faults, mut warnings, networks, own_annotations, exempts_fedhub } = judgement;
        let user = &request.user_info;
        if exempts_fedhub && !(faults.is_empty() && networks.is_empty()) {
            let asked = async {
                let plane = self.plane(origin, user)?;
                self.asks_as_fedhub(&plane, user).await
            };
            match timeout_at(end, asked).await.unwrap_or(Err(Unasked::Late)) {
                Ok(true) => return Verdict::Allowed { warnings: Vec::new() },
                Ok(false) => {}
                Err(unasked) if origin.hides(&unasked) => {}
                Err(unasked) => return Verdict::Unanswered(unasked),
            }
        }
        let is_master = user.groups.iter().flatten().any(|group| group == MASTERS);
        let own_annotations = if is_master { Vec::new() } else { own_annotations };
        let mut is_answered = true;
        if !networks.is_empty() || !own_annotations.is_empty() {
            let asked = async {
                let plane = self.plane(origin, user)?;
                self.ask(&plane, user, &networks, &own_annotations).await
            };
            let refused = match timeout_at(end, asked).await.unwrap_or(Err(Unasked::Late)) {
                Ok(refused) => refused,
                Err(unasked) if origin.hides(&unasked) => {
                    is_answered = !self.is_known(&unasked);
                    denied(user, &networks, &own_annotations)
                }
                // Its faults are there whatever the plane would say, and it could not be admitted.
                Err(_) if !faults.is_empty() => Vec::new(),
                Err(unasked) => return Verdict::Unanswered(unasked),
            };
            if origin.asker == Asker::Anyone && !refused.is_empty() {
                warnings.push(MAY_BE_UNASKED.to_owned());
            }
            faults.extend(refused);
        }
        if faults.is_empty() {
            return Verdict::Allowed { warnings };
        }
        Verdict::Refused { faults, warnings, is_answered }
    }

    /// Whether there is a plane that should have been asked.
    fn is_known(&self, unasked: &Unasked) -> bool {
        match unasked {
            Unasked::NotEngaged(plane) => self.planes.project(plane).is_some(),
            _ => true,
        }
    }

    /// The plane that a request comes from.
    fn plane(&self, origin: &Origin<'_>, user: &UserInfo) -> Result<EngagedPlane, Unasked> {
        let name = match (&origin.route.plane, origin.discovery) {
            (Some(plane), _) => Some(plane.clone()),
            (None, Discovery::Milo) => parent(user),
            (None, _) => PlaneName::new(single::NAME).ok(),
        };
        let name = name.ok_or(Unasked::Unknown)?;
        let plane = self.planes.engaged(&name).ok_or_else(|| Unasked::NotEngaged(name.clone()))?;
        Ok(EngagedPlane { name, plane })
    }

    /// Whether the user is fedhub itself.
    async fn asks_as_fedhub(&self, of: &EngagedPlane, user: &UserInfo) -> Result<bool, Unasked> {
        let place = self.waiting.enter(&of.name);
        let _place = place.ok_or_else(|| Unasked::Overloaded(of.name.clone()))?;
        let name = user.username.as_deref().unwrap_or_default();
        self.answered(of, self.is_fedhub(of, name).await)
    }

    /// Returns what the plane refuses, as faults of the object.
    async fn ask(
        &self,
        of: &EngagedPlane,
        user: &UserInfo,
        networks: &[NetworkUse],
        own: &[OwnAnnotation],
    ) -> Result<Vec<Fault>, Unasked> {
        let place = self.waiting.enter(&of.name);
        let _place = place.ok_or_else(|| Unasked::Overloaded(of.name.clone()))?;
        let name = user.username.as_deref().unwrap_or_default();
        let mut faults = Vec::new();
        for network in networks {
            if !self.answered(of, self.may_use(of, user, network).await)? {
                faults.push(network.refused(name));
            }
        }
        if !own.is_empty() && !self.answered(of, self.is_fedhub(of, name).await)? {
            faults.extend(own.iter().map(|annotation| annotation.refused(name)));
        }
        Ok(faults)
    }

    /// Counts an answer, and logs why there is none, once.
    fn answered(&self, of: &EngagedPlane, answer: anyhow::Result<bool>) -> Result<bool, Unasked> {
        match answer {
            Ok(answer) => {
                if self.failures.lock().remove(&of.name).is_some() {
                    tracing::info!(plane = %of.name, "access reviews on plane recovered");
                }
                Ok(answer)
            }
            Err(error) => {
                let error = errors::chain(error.as_ref());
                self.count("failed");
                let last = self.failures.lock().insert(of.name.clone(), error.clone());
                if last.as_ref() != Some(&error) {
                    tracing::warn!(plane = %of.name, error, "failed to ask about a user, refusing the request");
                }
                Err(Unasked::Failed(of.name.clone()))
            }
        }
    }

    async fn may_use(
        &self,
        of: &EngagedPlane,
        user: &UserInfo,
        network: &NetworkUse,
    ) -> anyhow::Result<bool> {
        let spec = SubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                group: Some("networking.datumapis.com".to_owned()),
                version: Some("v1alpha".to_owned()),
                resource: Some("networks".to_owned()),
                verb: Some("use".to_owned()),
                namespace: Some(network.namespace.clone()),
                name: Some(network.name.clone()),
                ..ResourceAttributes::default()
            }),
            ..about(user)
        };
        let key = digest(&serde_json::to_vec(&(of.name.as_str(), &spec))?)?;
        if self.allowed.lock().get(&key).is_some() {
            self.count("remembered");
            return Ok(true);
        }
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let answer = Api::all(of.plane.client()).create(&PostParams::default(), &review).await;
        let allowed = is_allowed(&answer.context("failed to create a SubjectAccessReview")?);
        self.count(if allowed { "allowed" } else { "denied" });
        if allowed {
            self.allowed.lock().put(key, (), STANDS);
        }
        Ok(allowed)
    }

    /// Whether that is the user that fedhub itself is there.
    async fn is_fedhub(&self, of: &EngagedPlane, user: &str) -> anyhow::Result<bool> {
        let known = self.own.lock().get(&of.name);
        if let Some(own) = known {
            return Ok(own == user);
        }
        let review = SelfSubjectReview::default();
        let answer = Api::all(of.plane.client()).create(&PostParams::default(), &review).await;
        let status = answer.context("failed to create a SelfSubjectReview")?.status;
        let own = status.and_then(|status| status.user_info?.username).filter(|name| !name.is_empty());
        let own = own.context("the plane does not say who fedhub is")?;
        self.own.lock().put(of.name.clone(), own.clone(), STANDS);
        Ok(own == user)
    }

    fn count(&self, answer: &str) {
        self.metrics.admission_access_reviews.with_label_values(&[answer]).inc();
    }
}

/// The kind of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// The API server of the plane that the request is for, by its certificate.
    Plane,
    /// Anyone who reaches the server: such a caller is not to learn which planes exist, nor how they are.
    Anyone,
}

/// Where a request comes from.
pub struct Origin<'a> {
    /// The caller.
    pub asker: Asker,
    /// The path of the request.
    pub route: &'a Route,
    /// How planes are found.
    pub discovery: Discovery,
}

impl Origin<'_> {
    /// Whether whoever asks gets the answer of a plane that denies, in place of one that says what became of
    /// the question.
    fn hides(&self, unasked: &Unasked) -> bool {
        self.asker == Asker::Anyone && unasked.depends_on_plane()
    }
}

/// Returns the faults of an object whose user has none of the rights.
fn denied(user: &UserInfo, networks: &[NetworkUse], own: &[OwnAnnotation]) -> Vec<Fault> {
    let name = user.username.as_deref().unwrap_or_default();
    let networks = networks.iter().map(|network| network.refused(name));
    networks.chain(own.iter().map(|annotation| annotation.refused(name))).collect()
}

/// A plane in sync.
struct EngagedPlane {
    name: PlaneName,
    plane: Arc<Plane>,
}

/// The project that a Milo says a request is for.
fn parent(user: &UserInfo) -> Option<PlaneName> {
    let one = |key: &str| match user.extra.as_ref()?.get(key)?.as_slice() {
        [one] => Some(one.as_str()),
        _ => None,
    };
    (one(PARENT.0)? == "Project").then(|| PlaneName::new(one(PARENT.1)?).ok())?
}
