//! Waiting until instances have followed an order: by one watch, over lost connections.

use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_api::instance_power::PowerOrder;
use fedhub_core::object::{Kind, Object, ObjectView};
use futures::StreamExt;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher as watch};
use tokio::time::timeout;

use super::plan::Verb;
use super::progress::{Asked, Progress, progress};
use crate::exit::Exit;
use crate::model::api;
use crate::problem::{Problem, is_final, of_watch};
use crate::session::Session;
use crate::session::transport::watch_config;

/// What has not followed yet, with why.
type Left = BTreeMap<String, String>;

/// Waits until all instances have followed the order, or one is blocked until the user or the operator acts.
/// Without a limit, it waits for as long as that takes.
pub async fn followed(
    session: &Session,
    order: PowerOrder,
    asked: &Asked,
    limit: Option<Duration>,
) -> Result<(), Problem> {
    let mut left: Left =
        asked.keys().map(|name| (name.clone(), "nothing is known of it yet".to_owned())).collect();
    tokio::select! {
        biased;
        _ = tokio::signal::ctrl_c() => Err(Problem::new(
            Exit::Interrupted,
            "Stopped waiting. What was asked for stands.",
        )),
        ended = in_time(session, order, asked, &mut left, limit) => ended,
    }
}

async fn in_time(
    session: &Session,
    order: PowerOrder,
    asked: &Asked,
    left: &mut Left,
    limit: Option<Duration>,
) -> Result<(), Problem> {
    let Some(limit) = limit else { return watched(session, order, asked, left).await };
    if let Ok(ended) = timeout(limit, watched(session, order, asked, left)).await {
        return ended;
    }
    let lines: Vec<String> = left.iter().map(|(name, why)| format!("\n  {name}: {why}")).collect();
    let sentence = format!("Not all instances have followed in time.{}", lines.concat());
    Err(Problem::new(Exit::TimedOut, sentence).remedy(format!(
        "What was asked for stands. See how they are with `{}`. Where nothing happens at all, the city may not offer to {} \
         single instances.",
        session.command("instances"),
        Verb(order).name()
    )))
}

async fn watched(
    session: &Session,
    order: PowerOrder,
    asked: &Asked,
    left: &mut Left,
) -> Result<(), Problem> {
    let api = api(session.client.clone(), &session.namespace, Kind::Instance);
    let config = match asked.keys().next() {
        Some(name) if asked.len() == 1 => watch_config().fields(&format!("metadata.name={name}")),
        _ => watch_config(),
    };
    let mut news = watch(api, config).default_backoff().boxed();
    let mut listed: Vec<Object> = Vec::new();
    while let Some(event) = news.next().await {
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(instance)) => listed.push(instance),
            Ok(Event::InitDone) => {
                for name in asked.keys() {
                    let instance = listed.iter().find(|instance| instance.name() == name);
                    judge(order, asked, left, name, instance)?;
                }
            }
            Ok(Event::Apply(instance)) => judge(order, asked, left, instance.name(), Some(&instance))?,
            Ok(Event::Delete(instance)) => judge(order, asked, left, instance.name(), None)?,
            Err(error) => match of_watch(error) {
                Some(error) if is_final(&error) => {
                    return Err(Problem::from_error(error, "watch the instances"));
                }
                _ => {}
            },
        }
        if left.is_empty() {
            return Ok(());
        }
    }
    Ok(())
}

/// Notes how far one of them is. What is gone comes back under its name, unless it is not wanted any more.
fn judge(
    order: PowerOrder,
    asked: &Asked,
    left: &mut Left,
    name: &str,
    instance: Option<&Object>,
) -> Result<(), Problem> {
    let Some(power) = asked.get(name) else { return Ok(()) };
    let why = match progress(instance, order, power) {
        Progress::Done => {
            left.remove(name);
            return Ok(());
        }
        Progress::Blocked(finding) => {
            return Err(Problem::new(Exit::Blocked, format!("Instance {name:?}: {}.", finding.what))
                .remedy(format!("{}. What was asked for stands.", finding.action())));
        }
        Progress::Waits(why) => why,
        Progress::Gone => "it is gone, and comes back if it is still wanted".to_owned(),
    };
    left.insert(name.to_owned(), why);
    Ok(())
}
