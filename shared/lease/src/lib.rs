//! Leadership: of several replicas one writes. It holds a Lease on the management plane. By hand, since the
//! crates for leader election do not fence single writes.
//!
//! Every replica engages, watches and keeps its stores warm; only the leader's queues give keys out
//! ([`follow`]), and every write passes the [`Fence`](fedhub_core::fence::Fence). [`Election`] decides what
//! to do next from what was seen and from the process's own monotonic clock; [`Elector`] does it.
//!
//! Two replicas never compare their clocks. A leader counts its lease from the moment *before* it sent its
//! last successful renewal, and stops writing a margin before that lease ends; a standby counts from the
//! moment it *saw* the Lease change. What is sent is seen later than it is sent, so the standby's count ends
//! last.
//!
//! # What a leader sent that lands in a later term
//!
//! A process may be stopped between the check of the fence and the moment in which a request leaves its
//! sockets, and a proxy may hold a request up; so it may land when another leads. Of all such requests one
//! leaves an effect once things have settled, the create of a hub WD; none needs the epoch on the object for
//! that:
//!
//! - An **update, patch or delete** carries the resourceVersion or the UID that it was decided by. Where the
//!   new leader, or any other writer, wrote meanwhile, it is refused; otherwise it is what the new leader
//!   would write itself.
//! - A **create** of something that exists is refused (409). So it can only do harm where what it makes is
//!   not there and is not meant to be there any more: - A *projection*: if its WD is gone, its ownerReference
//!   is to a dead UID, and the project plane's garbage collector takes it. If its hub Instance is gone, the
//!   projector sees it on its watch, and deletes it as after a gap (I4). - A *`PropagationPolicy`* that no WD
//!   uses goes after its quiet time, like any (F7). A *hub namespace* is left alone, empty as it is (F11). -
//!   A *hub WD* whose project WD was released meanwhile is an orphan, as of a stripped finalizer (F11): it is
//!   counted and named, and the operator's to delete. A WD that is made again under that name waits for that,
//!   and says so. An epoch on it would tell that it is old and not that its WD is gone, which alone may
//!   delete it (I4).

mod config;
mod election;
mod elector;
mod gate;

pub use config::LeaseConfig;
pub use election::{Claimed, Election, ElectionStep, LeaseSource, Record};
pub use elector::{Elector, Leadership, LeaseError};
pub use gate::{WarmUp, follow};
