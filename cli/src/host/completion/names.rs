//! Completion of names that the project knows.

use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::time::Duration;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use fedhub_core::object::Kind;
use fedhub_terminal::Terminal;
use kube::api::ListParams;
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};

use super::super::environment::Environment;
use super::super::program::Program;
use crate::args::Global;
use crate::cities::view::cities as all_cities;
use crate::model::list;
use crate::problem::Problem;
use crate::runtime;
use crate::session::Session;

/// How long a shell is kept waiting for names.
const PATIENCE: Duration = Duration::from_secs(3);

/// The line that is being completed.
#[derive(Clone, Default)]
pub struct Line {
    /// The flags that say where names come from.
    pub global: Global,
    /// The variables of the host.
    pub environment: Environment,
    /// The program that was called.
    pub program: Program,
}

thread_local! {
    /// Completers get a word and nothing else from clap: what stands around it is here.
    static LINE: RefCell<Line> = RefCell::new(Line::default());
    /// Whether it is a path that is being completed.
    static PATH: Cell<bool> = const { Cell::new(false) };
}

/// Sets the line that is being completed.
pub fn set(line: Line) {
    LINE.with(|current| *current.borrow_mut() = line);
}

/// Whether the last word that was completed is a path: shells complete those, and know how they are written.
pub fn is_path() -> bool {
    PATH.get()
}

/// The command line with completers on every argument that is such a name, or a path, by its value's name.
pub fn completed(command: Command) -> Command {
    command.mut_args(with_names).mut_subcommands(completed)
}

fn with_names(arg: Arg) -> Arg {
    let named = arg.get_value_names().and_then(|names| names.first()).map(|name| name.as_str().to_owned());
    match named.as_deref() {
        Some("WORKLOAD") => arg.add(completer(|session| names(session, Kind::Workload))),
        Some("INSTANCE") => arg.add(completer(|session| names(session, Kind::Instance))),
        Some("INSTANCE_TYPE") => arg.add(completer(|session| names(session, Kind::InstanceType))),
        Some("CITY") => arg.add(completer(cities)),
        Some("FILE" | "DIR") => arg.add(ArgValueCompleter::new(|_: &OsStr| {
            PATH.set(true);
            Vec::new()
        })),
        _ => arg,
    }
}

/// Completes names. An error gives none: a shell has no place for errors.
fn completer<F>(names: fn(Session) -> F) -> ArgValueCompleter
where
    F: Future<Output = Result<Vec<String>, Problem>> + 'static,
{
    ArgValueCompleter::new(move |word: &OsStr| {
        let Some(word) = word.to_str() else { return Vec::new() };
        let line = LINE.with(|line| line.borrow().clone());
        let found = read(line, names).unwrap_or_default().into_iter();
        found.filter(|name| name.starts_with(word)).map(CompletionCandidate::new).collect()
    })
}

fn read<F>(line: Line, names: fn(Session) -> F) -> Result<Vec<String>, Problem>
where
    F: Future<Output = Result<Vec<String>, Problem>>,
{
    let Line { global, environment, program } = line;
    runtime::run(async move {
        let session = Session::connect(program, global, &environment, Terminal::default()).await?;
        let read = tokio::time::timeout(PATIENCE, names(session)).await;
        read.unwrap_or_else(|_| Err(Problem::failed("The project did not answer in time.")))
    })
}

/// The names of the objects of a kind.
async fn names(session: Session, kind: Kind) -> Result<Vec<String>, Problem> {
    let client = session.client;
    let resource = kind.resource();
    let api: Api<DynamicObject> = if kind.namespaced() {
        Api::namespaced_with(client, &session.namespace, resource)
    } else {
        Api::all_with(client, resource)
    };
    let list = api.list_metadata(&ListParams::default()).await;
    let list = list.map_err(|error| Problem::from_error(error, "list names"))?;
    Ok(list.items.iter().map(ResourceExt::name_any).collect())
}

/// The cities that there are, as far as the project says, and those that its workloads name.
async fn cities(session: Session) -> Result<Vec<String>, Problem> {
    let (bindings, workloads) =
        tokio::join!(list(&session, Kind::LocationBinding, ""), list(&session, Kind::Workload, ""));
    let cities = all_cities(bindings.as_deref().ok(), workloads.as_deref().ok());
    Ok(cities.rows.into_iter().map(|city| city.code).collect())
}
