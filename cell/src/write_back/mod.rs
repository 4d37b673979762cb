//! Write-back: a cell's Instances, copied to the hub (C7).
//!
//! A pass over one Instance: [`glance`] decides by digests alone where they tell enough, which they do whenever nothing
//! is to do, only the status is to be written, or the copy is to go; else [`plan`] decides by the whole copy. Both are
//! pure. [`controller`] reads and writes, [`keys`] says when there is a pass. A copy is made at once,
//! but where gates hold its Instance: then it is made when they are gone, or worth telling, as is a status
//! ([`crate::status::hush`]).
//!
//! A copy lives until nobody but the write-back holds its Instance any more: while a provider tears the Instance down, the
//! copy says so, and with it the project ([`crate::status::termination`]). Then the copy goes, is proven gone (I3), and the
//! finalizer is released. The deletion of the Instance is never shown by one of the copy, for that would take the
//! projection away (P5).
//!
//! Whose an Instance is, its hub namespace's labels say and nothing that stands in the cell. A copy is written only on
//! behalf of a WD that lives on the hub, which it names as its controller, so that the hub's own garbage collector takes
//! it with the WD. Of the copies that stand there, only those are touched that carry this cell's mark, those from before
//! there were marks, and those of a cell that is declared lost, where an Instance here has their name ([`crate::identity`]).
//!
//! Where the write-back is switched off, [`off`] takes its finalizers off (C14).
//!
//! Where the cell is its own hub, an Instance is its own copy, and is left as it is.

pub mod controller;
pub mod copy;
pub mod decision;
mod finalizer;
pub mod glance;
pub mod keys;
pub mod mark;
pub mod off;
pub mod plan;
pub mod refusal;

pub use controller::WriteBack;
pub use off::WriteBackOff;
