//! Which Instances a WD has, and in which order they come and go. Pure: [`plan()`] looks at a WD and its Instances and
//! says what to do in this pass; the caller does it, and looks again when the Instances have changed. The caller must
//! see its own writes, or it does things twice (which their preconditions then refuse).
//!
//! # The rules
//!
//! Instances are named `<WD>-<ordinal>`, ordinals from 0 to the desired number less one. The name alone tells the
//! ordinal: a label that was edited by hand is put right, and costs no Instance (C1). There is one step at a time, the
//! first of these that is needed (C2):
//!
//! 1. A WD that is being deleted: all of its Instances at once. Nothing is left for an order to protect.
//! 2. Strays (Instances of this WD whose name says no ordinal): deleted, all at once, and not waited for.
//! 3. Too many: the highest ordinal is deleted, and the next only when no Instance is on its way out any more: quorum
//!    software must not lose two members at once. Nothing is made before that, so that there are never more Instances
//!    than desired beside the one that goes.
//! 4. From ordinal 0 upwards: what is missing is created, and becomes Ready before the next is looked at. An Instance
//!    on an outdated template that is not Ready is replaced here. One that is being deleted is not Ready (C12): it is
//!    waited for, and its ordinal created anew, before the next is looked at.
//! 5. All are there and Ready, and none too many is left: those on an outdated template are replaced, from the highest
//!    ordinal downwards, by deletion; when it is gone, 4 creates it anew and waits until it is Ready.
//!
//! An object of an Instance's name that this WD did not make is never touched (C3). For as long as it is there, its
//! ordinal and those after it are not created, and nothing Ready is replaced, as with any ordinal that is missing.
//!
//! # When an Instance does not become Ready (C4)
//!
//! For operators: an Instance that never becomes Ready holds a WD up only for as long as it runs the template that is
//! wanted now.
//!
//! - *It runs the wanted template*: the rollout stops there. No other Instance is replaced, so a bad template costs at
//!   most one Ready Instance, the first that was replaced. Mend the template, or put the earlier one back.
//! - *The template changes after that*: the Instance is replaced at once, without being waited for. Nothing has to be
//!   deleted by hand to get out of a bad rollout. If several are not Ready, the lowest ordinal goes first, each waited
//!   for before the next: later ones may need earlier ones in order to start.
//! - *Fewer are wanted*: readiness does not matter. Too high an ordinal goes, whether it or any other is Ready or not.
//!
//! # When an Instance does not go
//!
//! An Instance that is being deleted stays for as long as a finalizer is on it: its provider's until it is torn down,
//! then that of the write-back, which needs the hub. Until then no other Instance is asked to go, and no higher ordinal
//! is made (C2). Three things do not wait: what is missing below it is made; where it is one too many, what is missing
//! anywhere is made, for its ordinal is not wanted; and one that is not Ready on an outdated template is replaced beside
//! one too many, as that takes nothing Ready away (C4). [`Wait`] names the Instance; one that takes too long is named on
//! the WD (C12, [`crate::status::termination`]).

mod build;
mod content;
mod plan;
mod schema;
mod template;
mod view;

pub(crate) use build::owner;
pub use build::{Gate, build, labels};
pub use content::Likeness;
pub use plan::{LabelPatch, Plan, Step, Wait, plan};
pub use schema::TemplateSchema;
pub use template::template_hash;
pub use view::{Deployment, Instance, name, ordinal};

/// The one value of `scaleSettings.instanceManagementPolicy` that is known.
pub const ORDERED_READY: &str = "OrderedReady";
