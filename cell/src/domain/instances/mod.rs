//! Which Instances a WD has, and in which order they are created and deleted. Pure: [`plan()`] names the next
//! step for a WD and its Instances, and is called again when they have changed. The caller must see its own
//! writes.
//!
//! # The rules
//!
//! Instances are named `<WD>-<ordinal>`, with ordinals from 0 up to the desired number. The name alone gives
//! the ordinal: a label that was edited is repaired, and costs no Instance (C1). There is one step at a time,
//! the first of these that applies (C2):
//!
//! 1. The WD is terminating: delete all of its Instances at once.
//! 2. Strays (Instances of this WD without an ordinal in their name): delete all at once.
//! 3. Too many: delete the highest ordinal, and the next only when no Instance is terminating any more:
//!    quorum software must not lose two members at once. Nothing is created before that, so that there is at
//!    most one Instance more than desired. What a rollout adds is not too many while it is needed.
//! 4. From ordinal 0 upwards: create what is missing, and wait until it is Ready before the next. An Instance
//!    on an outdated template that is not Ready is replaced here. A terminating one is not Ready (C12): its
//!    ordinal is created again when it is gone.
//! 5. All are Ready: replace those on an outdated template, from the highest ordinal downwards, by deletion;
//!    4 creates each again and waits until it is Ready.
//!
//! # Several at once, and some added
//!
//! [`Budget`] is what `scaleSettings.rollingUpdate` allows: how many may be missing (1 by default) and how
//! many may be added (none by default). There still is one step at a time, which does not wait for those
//! before it:
//!
//! - 4 goes on past ordinals that are not Ready, as many as may be on their way at once. What was never there
//!   is still created one by one: only gaps, and what an outdated template still needs, come side by side.
//! - Before 5, as many ordinals beyond the desired ones are created as there are outdated Instances, if so
//!   many may be added. Until one of them is Ready, nothing Ready is replaced.
//! - 5 replaces a Ready Instance where enough others are Ready, added ones included. Those are replaced like
//!   others where the template changes again.
//! - An added one is too many (3) once no wanted Instance is outdated, and all are Ready or it is not: while
//!   it stands in for another, it stays.
//!
//! Nothing of this is remembered: an added Instance is known by its ordinal, and whether it is needed by the
//! others.
//!
//! An object of an Instance's name that this WD does not control is never touched (C3). While it exists, its
//! ordinal and those after it are not created, and nothing Ready is replaced.
//!
//! # What would be lost (V5)
//!
//! Disks are an Instance's own, and go with it. One that has run and has a disk is replaced only where
//! `spec.template.spec.disruption` is `Allow`; one without disks unless that is `Deny`. A denied one stays on
//! its template: the plan counts it as neither outdated nor current, and [`RolloutPlan::denied`] names it.
//! Ordinals that are missing are created on the new template all the same.
//!
//! Where the cell's provider can ([`Replacement::Rebuild`]), an Instance that differs in the image of its
//! boot disk alone is changed in place. It is not Ready until its provider has observed the new template
//! ([`is_rebuilding`]), so that the budget counts it as any other.
//!
//! # When an Instance does not become Ready (C4)
//!
//! For operators: an Instance that never becomes Ready blocks a WD only while it runs the current template.
//!
//! - *It runs the current template*: the rollout stops there, so a bad template costs at most one Ready
//!   Instance. Fix the template, or restore the earlier one.
//! - *The template changes after that*: the Instance is replaced at once, the lowest ordinal first, each
//!   waited for: later ones may need earlier ones to start. Nothing has to be deleted by hand.
//! - *Fewer are desired*: readiness does not matter, the highest ordinals go.
//!
//! # When an Instance does not go
//!
//! A terminating Instance stays while a finalizer is on it: its provider's until it is torn down, then that
//! of the write-back, which needs the hub. Until then no other Instance is deleted, and no higher ordinal is
//! created (C2). Three things do not wait: what is missing below it; where it is one too many, what is
//! missing anywhere; and, beside one too many, the replacement of one that is not Ready on an outdated
//! template (C4). [`InstanceWait`] names the Instance; one that takes too long is named on the WD (C12,
//! [`crate::domain::status::termination`]).

mod budget;
mod build;
mod content;
mod plan;
mod replacement;
mod schema;
mod standing;
mod template;
mod view;

pub use budget::Budget;
pub(crate) use build::texts;
pub use build::{Gate, build, labels, owner_reference};
pub use content::Likeness;
pub use plan::{InstanceStep, InstanceWait, LabelPatch, RolloutPlan, plan};
pub use replacement::is_rebuilding;
pub use schema::TemplateSchema;
pub use template::template_hash;
pub use view::{Deployment, Instance, Replacement, name, ordinal};

/// The one value of `scaleSettings.instanceManagementPolicy` that is known.
pub const ORDERED_READY: &str = "OrderedReady";
