//! `sockets`: TCP connections for many planes behind one host.

use serde_json::json;

use super::{
    Options,
    report::{Claim, Report},
    sim::Sim,
    stats::number,
};
use crate::Error;

/// Planes.
const PLANES: usize = 1_000;
/// Streams that API servers allow on a connection.
const STREAMS: usize = 100;
/// Connections that may be more than the streams need.
const SPARE: usize = 4;

/// Counts, once, when all planes are engaged.
pub async fn run(options: &Options) -> Result<Report, Error> {
    let sim = Sim::up(options, options.scaled(PLANES)).await?;
    sim.populate(sim.planes, sim.planes, "in-order", "wd").await?;
    let fedhub = sim.fedhub(&["--leader-elect=true"]).await?;
    let connections = fedhub.connections_to(sim.port())?;
    // This question is a stream too.
    let streams = sim.counters().await?.open.streams.saturating_sub(1);
    let own = fedhub.scrape().await?.sum("fedhub_plane_connections", &[]);
    fedhub.stop().await?;
    let limit = streams.div_ceil(STREAMS) + SPARE;
    let details = json!({
        "planes": sim.planes, "streams": streams, "limit": limit, "connections_by_own_metric": own,
    });
    let claims = [Claim::at_most(&format!("for {streams} streams"), number(connections), number(limit))];
    Ok(Report::on("sockets", number(connections), "connections", &claims, details))
}
