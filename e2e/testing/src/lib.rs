//! What tests of controllers share: a [`Process`] over fake API servers under paused time, and what is asked
//! of those servers afterwards.
//!
//! ```no_run
//! # async fn example(server: fedhub_fake_apiserver::ApiServer) {
//! use fedhub_planes::Settings;
//! use fedhub_testing::{Process, client, quiet};
//!
//! let mut process = Process::on(&server);
//! let planes = process.planes(client(&server), Settings::default());
//! let queue = process.queue(planes.seed());
//! // The controller under test: it listens to `planes`, and `process.work(&controller, &queue, 4)` staffs
//! // it.
//! planes.start();
//! let run = process.running(planes);
//! quiet(10).await;
//! run.stop().await;
//! # }
//! ```
//!
//! Nothing here knows a controller, so that tests of every crate may use it; the `support.rs` of each test
//! sets the initial objects of the servers and the controllers that run.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "helpers of tests")]

mod messages;
mod objects;
mod pauses;
mod process;
mod requests;
mod servers;
mod tables;

pub use fedhub_fake_apiserver::{quiet, until};
pub use insta;
pub use messages::Messages;
pub use objects::{
    ENTITLEMENTS, condition, delete_entitlements, entitle, event_notes, instance_status, is_terminating,
    serve_entitlements, uid, withdraw,
};
pub use pauses::{HOME, follow_pauses, management_plane, set_paused};
pub use process::{Process, Run};
pub use requests::{asked, position, requests, writes};
pub use servers::{
    HEADERS, cell, cell_uid, client, gap, normalized_instances, plane_name, put_hub_namespace,
    put_kube_system, put_namespace,
};
pub use tables::assert_table;
