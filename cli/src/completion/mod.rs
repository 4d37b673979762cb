//! Names from the project, for a shell to complete: of workloads, instances, cities and instance types.
//!
//! A shell waits for the answer while its user does: what does not come in time, or not at all, is left out.

use std::time::Duration;

use fedhub_core::object::{Kind, Object, ObjectView};

use crate::cities::view::cities;
use crate::dispatch::in_runtime;
use crate::host::completion::Line;
use crate::instance_types::{TYPES, view::offers};
use crate::instances::state::State;
use crate::model::{Index, list};
use crate::reading;
use crate::session::Session;
use crate::view::object::{Place, image, instance_spec};

/// How long a shell may wait.
const PATIENCE: Duration = Duration::from_secs(3);

/// Names with a description each.
type Names = Vec<(String, String)>;

/// The names of the Workloads, with what they run.
pub fn workloads(line: &Line) -> Names {
    let name = |it: &Object| (it.name().to_owned(), image(instance_spec(it)));
    ask(line, async |session| read(session, Kind::Workload).await.iter().map(name).collect())
}

/// The names of the Instances, with how they are.
pub fn instances(line: &Line) -> Names {
    let name = |it: &Object| {
        let city = Place::of(it, |_| None).city.map_or_else(String::new, |city| format!("{city}, "));
        (it.name().to_owned(), format!("{city}{}", State::of(it)))
    };
    ask(line, async |session| read(session, Kind::Instance).await.iter().map(name).collect())
}

/// The codes of the cities that there are, and of those that the project's Workloads name.
pub fn all_cities(line: &Line) -> Names {
    ask(line, async |session| {
        let (bindings, workloads) =
            tokio::join!(list(session, Kind::LocationBinding, ""), list(session, Kind::Workload, ""));
        let all = cities(bindings.as_deref().ok(), workloads.as_deref().ok()).rows;
        all.into_iter().filter(|it| it.ready != Some(false)).map(|it| (it.code, String::new())).collect()
    })
}

/// The codes of the cities that the project's Workloads name.
pub fn used_cities(line: &Line) -> Names {
    ask(line, async |session| {
        let workloads = read(session, Kind::Workload).await;
        let index = Index::default();
        let mut codes: Vec<String> = workloads
            .iter()
            .flat_map(|it| index.workload(it).cities().into_iter().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        codes.sort();
        codes.dedup();
        codes.into_iter().map(|code| (code, String::new())).collect()
    })
}

/// The names of the instance types that new Workloads may have.
pub fn instance_types(line: &Line) -> Names {
    ask(line, async |session| {
        let types = reading::list(&session.client, TYPES).await.unwrap_or_default();
        let offered = offers(&types).into_iter().filter(|it| it.is_offered());
        offered.map(|it| (it.name, format!("{} CPU, {}", it.cpu, it.memory))).collect()
    })
}

async fn read(session: &Session, kind: Kind) -> Vec<Object> {
    list(session, kind, "").await.unwrap_or_default()
}

/// Asks the project of a line.
fn ask(line: &Line, names: impl AsyncFnOnce(&Session) -> Names) -> Names {
    let mut found = Names::new();
    let asked = in_runtime(async {
        let all = async {
            let (global, terminal) = (line.global.clone(), line.terminal());
            match Session::connect(line.program, global, &line.environment, terminal).await {
                Ok(session) => names(&session).await,
                Err(_) => Names::new(),
            }
        };
        found = tokio::time::timeout(PATIENCE, all).await.unwrap_or_default();
        Ok(())
    });
    // A shell has no place for errors.
    if asked.is_err() { Names::new() } else { found }
}
