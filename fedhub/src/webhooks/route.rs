//! Routes a request by its path to a webhook and a plane.
//!
//! `/validate-compute-datumapis-com-v1alpha-workload` and its like, as controller-runtime names them. Where
//! planes are found by kubeconfigs, `/planes/<plane>` stands before it: nothing else in a request says which
//! plane it comes from. A Milo says so in the extras of the user, and of a single plane there is no other.
//! Types of instances may be reviewed without a plane: nobody is asked about them.

use fedhub_core::message::Quoted;
use fedhub_core::names::PlaneName;
use fedhub_planes::discovery::Discovery;
use fedhub_workload::admission::Kind;
use kube::core::admission::Operation;

use super::review::Review;

/// The webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Webhook {
    /// Completes an object.
    Mutate,
    /// Admits or refuses it.
    Validate,
}

impl Webhook {
    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Mutate => "mutate",
            Self::Validate => "validate",
        }
    }
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The webhook.
    pub webhook: Webhook,
    /// The kind that it is for.
    pub kind: Kind,
    /// The plane that the path names.
    pub plane: Option<PlaneName>,
    /// Whether it is for the subresource `scale` of the kind, whose object is a Scale.
    pub is_scale: bool,
}

impl Route {
    /// The route of a path, or why there is none.
    pub fn from_path(path: &str, discovery: Discovery) -> Result<Self, String> {
        let names_plane = discovery == Discovery::Kubeconfigs;
        let (plane, rest) = match path.strip_prefix("/planes/").and_then(|rest| rest.split_once('/')) {
            Some((plane, rest)) if names_plane => {
                (Some(PlaneName::new(plane).map_err(|error| format!("{error}\n"))?), rest)
            }
            Some(_) => return Err(format!("with discovery {discovery} a path names no plane\n")),
            None => (None, path.trim_start_matches('/')),
        };
        let found = |webhook: Webhook, verb: &str| {
            let rest = rest.strip_prefix(verb)?.strip_prefix("-compute-datumapis-com-v1alpha-")?;
            let scaled = rest.strip_suffix("-scale");
            let kind = scaled.unwrap_or(rest);
            let kind = Kind::ALL.into_iter().find(|known| known.name().to_lowercase() == kind)?;
            let is_there = match webhook {
                // Nothing is completed in objects of other kinds.
                Webhook::Mutate => matches!(kind, Kind::Workload | Kind::WorkloadRollout) && scaled.is_none(),
                Webhook::Validate => kind == Kind::WorkloadDeployment || scaled.is_none(),
            };
            is_there.then(|| Self { webhook, kind, plane: plane.clone(), is_scale: scaled.is_some() })
        };
        let found = found(Webhook::Mutate, "mutate").or_else(|| found(Webhook::Validate, "validate"));
        let found = found.ok_or_else(|| "no webhook has this path: see docs/admission.md\n".to_owned())?;
        // Nobody is asked about a type: it is reviewed where the catalogue is, which may be no project plane.
        if names_plane && found.plane.is_none() && found.kind != Kind::InstanceType {
            return Err(format!("with discovery {discovery} a path begins with /planes/<plane>/\n"));
        }
        Ok(found)
    }

    /// Why a request does not belong here.
    pub fn fault(&self, request: &Review) -> Option<String> {
        let is_ours = if self.is_scale {
            request.resource.group == fedhub_api::GROUP
                && request.resource.resource == format!("{}s", self.kind.name().to_lowercase())
                && request.sub_resource.as_deref() == Some("scale")
        } else {
            request.kind.group == fedhub_api::GROUP && request.kind.kind == self.kind.name()
        };
        let what = format!("{}.{}", request.kind.kind, request.kind.group);
        (!is_ours).then(|| format!("this path is for {}, not for {}\n", self.subject(), Quoted(&what)))
    }

    /// Returns the subject of the review, in words and as a metric label.
    pub fn subject(&self) -> &'static str {
        if self.is_scale { "Scale" } else { self.kind.name() }
    }
}

/// The metric label of what is being done.
pub fn operation(request: &Review) -> &'static str {
    match request.operation {
        Operation::Create => "create",
        Operation::Update => "update",
        Operation::Delete => "delete",
        Operation::Connect => "connect",
    }
}
