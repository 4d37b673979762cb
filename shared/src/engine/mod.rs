//! The engine: watch pump -> store -> fair queue -> workers.
//!
//! A pump feeds one store for each (plane, kind) and tells the listeners what changed. A listener puts keys on its
//! queue; workers take them in fair turns over planes and hand them to the [`Controller`]. No plane's stream is
//! merged into another's, and keys of a plane that fails wait for its [`circuit`], so one plane's trouble stays its
//! own (I8).

pub mod circuit;
pub mod queue;
pub mod worker;

pub use fedhub_cache::{Change, Echo, Known, Part, Room, Store, View, echo, room, store};
pub use fedhub_planes::heard::Heard;
pub use fedhub_planes::{
    Listener, StatusWrite, Write, Writer, backoff, guard, heard, listwatch, resume, writer,
};
pub use queue::{Job, Outcome, Queue, QueueConfig};
pub use worker::{Controller, run_workers};
