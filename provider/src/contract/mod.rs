//! What a provider has to answer and to do.
//!
//! Every call is about servers as the provider knows them, in its own words for projects, networks, flavors
//! and images; [`Provider::wanted`] translates. A call that fails says whether it may have taken effect all
//! the same ([`Failure::may_have_acted`]): the controller never repeats such a call before it has looked.

mod failure;
mod link;
mod server;

use std::future::Future;

use fedhub_core::object::Object;

pub use failure::{Failure, FailureKind, Refusal};
pub use link::{AllocationId, Link, Place, ServerId};
pub use server::{Address, Health, Phase, Power, Server};

/// A server as an Instance wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted<S> {
    /// Where it is to be.
    pub place: Place,
    /// What it is to be made of, in the provider's words.
    pub spec: S,
}

/// What a search for the server of an Instance came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<S> {
    /// There is none, and this proves it (V3).
    Absent(Proof),
    /// Exactly one has the link. Whether it is ours is the controller's to verify (V2).
    One(Box<Server<S>>),
    /// Several have the link: none of them is touched (V2).
    Many(Vec<ServerId>),
    /// None was found, which proves nothing: a list may lag, and may leave out what cannot be read (V3).
    Unknown,
}

/// Why a server is known to be absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The provider answered that it has no server of this ID, by which one of this link would be known.
    NotFound(ServerId),
}

/// What a change of a standing server's specification means for it (V5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Nothing changes.
    Nothing,
    /// The server takes it over as it runs.
    InPlace,
    /// The server keeps its ID, addresses and volumes, and loses its root disk.
    Rebuild,
    /// The server has to be deleted and made anew: all that is in it is lost.
    Recreate,
}

/// The answer to an order to delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It is being deleted. That it is gone has to be proven.
    Accepted,
    /// It does not exist: the provider said so of its ID.
    Gone,
}

/// A provider of servers.
///
/// Implementations hold one client for each region, with its own connections, limits and circuit breaker
/// (V7), and never wait for long: where a region is busy or away, a call fails with
/// [`FailureKind::Unavailable`] and the time after which to try again.
pub trait Provider: Send + Sync + 'static {
    /// What servers are made of, in the provider's words.
    type Spec: Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static;

    /// The name of the provider, as statuses and logs have it.
    fn name(&self) -> &'static str;

    /// The server that an Instance of a project wants: where, and made of what. `project` is the name of the
    /// project plane that the Instance belongs to. Pure and quick: no request is sent.
    ///
    /// # Errors
    ///
    /// [`Refusal`] where the Instance cannot be had as it is asked for, with who has to act.
    fn wanted(&self, project: &str, instance: &Object) -> Result<Wanted<Self::Spec>, Refusal>;

    /// What it takes to make a server of `stands` one of `wanted` (V5). Pure.
    fn change(&self, stands: &Self::Spec, wanted: &Self::Spec) -> Change;

    /// All servers of a place that can be seen now. It may lag behind, and may lack some (V3).
    fn list(&self, place: &Place) -> impl Future<Output = Result<Vec<Server<Self::Spec>>, Failure>> + Send;

    /// The servers that carry the link of an Instance, wherever in its region and project they are.
    fn find(&self, link: &Link) -> impl Future<Output = Result<Found<Self::Spec>, Failure>> + Send;

    /// The server of this ID; none where the provider says that there is none, which proves it (V3).
    fn get(
        &self,
        place: &Place,
        id: &ServerId,
    ) -> impl Future<Output = Result<Option<Server<Self::Spec>>, Failure>> + Send;

    /// Makes the server of a link. The provider refuses a second one under the name of the link with
    /// [`FailureKind::Conflict`]: that is what makes it safe to ask again after a lost answer (V1).
    fn create(
        &self,
        link: &Link,
        spec: &Self::Spec,
    ) -> impl Future<Output = Result<Server<Self::Spec>, Failure>> + Send;

    /// Makes the server of this ID be as `spec` says, with the tags of the link: a lost tag is put back by
    /// it. Only where [`change`](Self::change) says `Nothing`, `InPlace` or `Rebuild`.
    fn update(
        &self,
        link: &Link,
        id: &ServerId,
        spec: &Self::Spec,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Deletes the server of this ID.
    fn delete(&self, place: &Place, id: &ServerId) -> impl Future<Output = Result<Deletion, Failure>> + Send;

    /// Starts, stops or restarts the server of this ID.
    fn power(
        &self,
        place: &Place,
        id: &ServerId,
        power: Power,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Takes the quota that the server of a link needs. A provider without quota answers with an empty ID.
    fn reserve(
        &self,
        link: &Link,
        spec: &Self::Spec,
    ) -> impl Future<Output = Result<AllocationId, Failure>> + Send;

    /// The allocations that carry the link of an Instance: how a lost answer of
    /// [`reserve`](Self::reserve) is made up for.
    fn reserved(&self, link: &Link) -> impl Future<Output = Result<Vec<AllocationId>, Failure>> + Send;

    /// Gives an allocation back.
    fn release(
        &self,
        place: &Place,
        id: &AllocationId,
    ) -> impl Future<Output = Result<Deletion, Failure>> + Send;
}
