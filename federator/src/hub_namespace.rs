//! Which hub namespace is a WD's (F2, F9).
//!
//! The one that the UID of its project namespace names. But a project namespace can be taken away by force
//! while WDs stand in it, and be made again under another UID: then it is the hub namespace that the WD is
//! in, as the hub's own labels and origin mark show.

use fedhub_api::facts::deployment::mark_hash;
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_core::errors::Error;
use fedhub_core::names::{SOURCE_UID, hub_namespace};
use fedhub_core::object::{Key, Kind, ObjectView};
use fedhub_planes::{Pass, Plane, ProjectNamespace};

use crate::Federator;
use crate::controller::Target;
use crate::namespaces::NamespaceUid;

/// A hub namespace that names the WD's project namespace by its labels.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// The `source-uid` of the WD of that name in it, hashed; `None` where there is no such WD.
    pub holds: Option<u64>,
}

/// The hub namespace that a WD belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HubNamespace {
    /// Into this hub namespace.
    In(String),
    /// Into this one, if live reads show that it is not in the one that its project namespace's UID names.
    Recorded(String),
    /// Unknown: the project namespace is gone, and nothing of the WD is on the hub.
    Unknown,
}

/// Decides where the WD `wd` belongs. `named`: the hub namespace that its project namespace's UID names, if
/// that stands.
pub fn choose(wd: &Digest, named: Option<&str>, candidates: &[Candidate]) -> HubNamespace {
    let uid = mark_hash(Some(&wd.uid.to_string()));
    let mut holding = candidates.iter().filter(|c| c.holds == Some(uid)).map(|c| c.name.as_str());
    // What a tenant wrote decides nothing for as long as the hub shows it.
    if let Some(first) = holding.clone().next() {
        return HubNamespace::In(holding.find(|name| Some(*name) == named).unwrap_or(first).to_owned());
    }
    let Some(facts) = wd.deployment() else { return HubNamespace::Unknown };
    let mut others = candidates.iter().filter(|c| Some(c.name.as_str()) != named);
    let is_named = |c: &Candidate| facts.counterpart == mark_hash(Some(&c.name));
    let is_recorded = |c: &&Candidate| is_named(c) && facts.counterpart_uid == mark_hash(Some(&c.uid));
    if wd.terminating
        && facts.held
        && let Some(left) = others.find(is_recorded)
    {
        // It was there, and its hub WD is deleted by now.
        return HubNamespace::Recorded(left.name.clone());
    }
    match named {
        Some(named) => HubNamespace::In(named.to_owned()),
        None => candidates
            .iter()
            .find(|c| is_named(c))
            .map_or(HubNamespace::Unknown, |c| HubNamespace::In(c.name.clone())),
    }
}

impl Federator {
    /// The name of a WD's hub namespace.
    pub(crate) async fn resolve_hub_namespace(
        &self,
        pass: &Pass,
        of: Target<'_>,
        wd: &Digest,
    ) -> Result<String, Error> {
        let named = self.namespace_uid(pass, of, wd).await?.map(|uid| hub_namespace(&uid));
        match choose(wd, named.as_deref(), &self.candidates(of)) {
            HubNamespace::In(space) => Ok(space),
            HubNamespace::Recorded(space) => {
                let Some(named) = named else { return Ok(space) };
                let there =
                    self.planes.hub().get_live(pass, Kind::WorkloadDeployment, &named, &of.key.name).await?;
                let uid = wd.uid.to_string();
                let is_its = |hub: &str| hub == uid;
                Ok(if there.is_some_and(|hub| hub.annotation(SOURCE_UID).is_none_or(is_its)) {
                    named
                } else {
                    space
                })
            }
            HubNamespace::Unknown => {
                let Key { plane, namespace, .. } = of.key.clone();
                Err(Error::NamespaceGone { plane, namespace: namespace.into() })
            }
        }
    }

    /// The hub namespace of a WD, where the marks on both planes name each other, so that nothing has to be
    /// asked (F2).
    pub(crate) fn marked_hub_namespace(&self, home: &ProjectNamespace, wd: &Digest) -> Option<String> {
        let named = wd.deployment()?.counterpart;
        self.planes.tenants().of(home).into_iter().find(|hub| named == mark_hash(Some(hub)))
    }

    fn candidates(&self, of: Target<'_>) -> Vec<Candidate> {
        let hub = self.planes.hub();
        let candidate = |name: String| {
            let namespace = hub.store(Kind::Namespace).digest("", &name)?;
            let wd = hub.store(Kind::WorkloadDeployment).digest(&name, &of.key.name);
            let holds = wd.and_then(|wd| Some(wd.deployment()?.counterpart_uid)).filter(|uid| *uid != 0);
            Some(Candidate { name, uid: namespace.uid.to_string(), holds })
        };
        self.planes.tenants().of(of.home).into_iter().filter_map(candidate).collect()
    }

    /// The UID of the project namespace, for as long as WDs hold it (F2).
    pub(crate) fn known_namespace_uid(&self, of: Target<'_>, wd: &Digest) -> Option<String> {
        let epoch = of.project.store(of.key.kind).epoch();
        let known = self.namespaces.get(of.home).filter(|read| read.epoch == epoch).map(|read| read.uid);
        let is_held = wd.deployment().is_some_and(|d| d.held);
        known.filter(|_| is_held || held(of.project, &of.home.namespace))
    }

    /// The UID of the project namespace: read once for as long as WDs stand in it (F2). `None` where it is
    /// gone although they stand.
    async fn namespace_uid(&self, pass: &Pass, of: Target<'_>, wd: &Digest) -> Result<Option<String>, Error> {
        if let Some(uid) = self.known_namespace_uid(of, wd) {
            return Ok(Some(uid));
        }
        let epoch = of.project.store(of.key.kind).epoch();
        let namespace = of.project.get_live(pass, Kind::Namespace, "", &of.home.namespace).await?;
        let Some(uid) = namespace.map(|n| n.uid().to_owned()).filter(|u| !u.is_empty()) else {
            return Ok(None);
        };
        // The namespace was made anew, or all of the plane was, under watches that tell of it as of deletions
        // (I4).
        let is_another = self.planes.tenants().of(of.home).iter().any(|known| *known != hub_namespace(&uid));
        if is_another && !self.planes.confirm(of.project).await {
            return Err(Error::NotEngaged(of.project.id.clone()));
        }
        // Meanwhile the WD may have gone, and its namespace with it: then this is nothing to remember.
        if of.digest().is_some_and(|stands| stands.uid == wd.uid) {
            self.namespaces.insert(of.home.clone(), NamespaceUid { uid: uid.clone(), epoch });
        }
        if of.project.stop.is_cancelled() {
            self.namespaces.remove(of.home);
        }
        Ok(Some(uid))
    }
}

/// Whether a WD with our finalizer stands in that namespace, so that it cannot have vanished (F2).
pub(crate) fn held(project: &Plane, namespace: &str) -> bool {
    project
        .store(Kind::WorkloadDeployment)
        .any(Some(namespace), |wd| wd.digest.deployment().is_some_and(|d| d.held))
}

#[cfg(test)]
mod tests {
    use fedhub_core::names::{FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_NAMESPACE_UID, PlaneName};
    use fedhub_core::object::{PlaneId, bare};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn wd(terminating: bool, marks: Option<(&str, &str)>) -> Digest {
        let mut wd = bare(Kind::WorkloadDeployment, "shop", "web");
        wd.metadata.uid = Some("uid".to_owned());
        wd.metadata.finalizers = Some(vec![FEDERATOR_FINALIZER.to_owned()]);
        wd.metadata.deletion_timestamp = terminating.then_some(Time(jiff::Timestamp::UNIX_EPOCH));
        let annotations = wd.metadata.annotations.get_or_insert_default();
        if let Some((name, uid)) = marks {
            annotations.insert(FEDERATION_NAMESPACE.to_owned(), name.to_owned());
            annotations.insert(HUB_NAMESPACE_UID.to_owned(), uid.to_owned());
        }
        Digest::new(&PlaneId::Project(PlaneName::new("alpha").unwrap()), Kind::WorkloadDeployment, &wd)
    }

    fn candidate(name: &str, holds: Option<&str>) -> Candidate {
        Candidate {
            name: name.to_owned(),
            uid: format!("uid of {name}"),
            holds: holds.map(|uid| mark_hash(Some(uid))),
        }
    }

    #[test]
    fn f9_the_table_of_hub_namespaces() {
        let of = |name: &str| HubNamespace::In(name.to_owned());
        let recorded = |name: &str| HubNamespace::Recorded(name.to_owned());
        let old = Some(("old", "uid of old"));
        let empty = [candidate("new", None), candidate("old", None)];
        let in_old = [candidate("new", Some("another")), candidate("old", Some("uid"))];
        let in_both = [candidate("old", Some("uid")), candidate("new", Some("uid"))];
        for (what, deleting, marks, named, candidates, expected) in [
            ("the first one", false, None, Some("new"), &[][..], of("new")),
            ("left from an earlier namespace", false, old, Some("new"), &empty[..], of("new")),
            ("where the hub WD is", false, None, Some("new"), &in_old[..], of("old")),
            (
                "where the hub WD is, deleting",
                true,
                Some(("new", "uid of new")),
                Some("new"),
                &in_old[..],
                of("old"),
            ),
            ("in two: the one by the UID", true, old, Some("new"), &in_both[..], of("new")),
            ("it was there", true, old, Some("new"), &empty[..], recorded("old")),
            ("only the name agrees", true, Some(("old", "x")), Some("new"), &empty[..], of("new")),
            ("an unlabelled one", true, Some(("elsewhere", "x")), Some("new"), &empty[..], of("new")),
            ("gone, and it was there", true, old, None, &empty[..], recorded("old")),
            ("gone, and it is there", false, None, None, &in_old[..], of("old")),
            ("gone, by the name", true, Some(("old", "x")), None, &empty[..], of("old")),
            ("gone, by nothing", true, Some(("elsewhere", "x")), None, &empty[..], HubNamespace::Unknown),
        ] {
            assert_eq!(choose(&wd(deleting, marks), named, candidates), expected, "{what}");
        }
    }
}
