//! `connections`: TCP connections for many planes behind one host, and under load to real API servers.

use std::time::Duration;

use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use super::environment::{Environment, PROJECT};
use super::fake_apiserver::Fleet;
use super::figure::Figure;
use super::fixture::federated;
use super::judge::Bar;
use super::report::Findings;
use super::stats::number;
use super::{Options, loader};
use crate::Error;
use crate::topology::planes::HUB;

/// Planes.
const PLANES: usize = 1_000;
/// Streams that API servers allow on a connection.
const STREAMS: usize = 100;
/// Connections that may be more than the streams need.
const SPARE: usize = 4;
/// WDs that are federated while connections to real servers are counted.
const DEPLOYMENTS: usize = 1_000;
/// Streams to a real server at most: requests that may wait for an answer at once, fedhub's usual, and
/// watches.
const BUSY: usize = 64 + 5;

fn limit(streams: usize) -> usize {
    streams.div_ceil(STREAMS) + SPARE
}

/// Counts once, in memory, when all watches of all planes stand.
pub async fn fake(options: &Options) -> Result<Findings, Error> {
    let fleet = Fleet::up(options, options.scaled(PLANES)).await?;
    fleet.populate(fleet.planes, fleet.planes, "in-order", "wd").await?;
    let fedhub = fleet.fedhub(&["--leader-elect=true"]).await?;
    let streams = fleet.watched().await?;
    let connections = fedhub.connections_to(fleet.port())?;
    let own = fedhub.scrape().await?.sum("fedhub_plane_connections", &[]);
    fedhub.stop().await?;
    let limit = limit(streams);
    let figure = Figure::exact("in memory", "connections", number(connections));
    Ok(Findings {
        figures: vec![figure.exactly(Bar::at_most(number(limit)))],
        details: json!({
            "planes": fleet.planes, "streams": streams, "limit": limit, "connections_by_own_metric": own,
        }),
    })
}

/// Counts on real planes, which take one name for one identity, so that there are few: again and again while
/// WDs are federated as fast as they are created.
pub async fn real(environment: &Environment, options: &Options) -> Result<Findings, Error> {
    let fedhub = environment.fedhub().await?;
    let spaces = loader::spaces(&environment.project, "s", 10).await?;
    let count = options.scaled(DEPLOYMENTS);
    let ports = [environment.port(HUB)?, environment.port(PROJECT)?];
    let mut most = [0, 0];
    let mut look = interval(Duration::from_millis(20));
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    {
        let load = federated(environment, &spaces, "s", count);
        tokio::pin!(load);
        loop {
            tokio::select! {
                done = &mut load => break done.map(drop)?,
                _ = look.tick() => {
                    for (most, port) in most.iter_mut().zip(ports) {
                        *most = fedhub.connections_to(port)?.max(*most);
                    }
                }
            }
        }
    }
    fedhub.stop().await?;
    let connections = most.into_iter().max().unwrap_or_default();
    let limit = limit(BUSY);
    let figure = Figure::exact("to a real plane", "connections", number(connections));
    Ok(Findings {
        figures: vec![figure.exactly(Bar::at_most(number(limit)))],
        details: json!({ "deployments": count, "hub": most[0], "project": most[1], "limit": limit }),
    })
}
