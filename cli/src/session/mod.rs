//! The connection of a command to the project that it works in.

pub mod connect;
pub mod target;
pub mod token;
pub mod transport;

pub use connect::NAMESPACE;

use fedhub_terminal::Terminal;
use fedhub_terminal::consent::confirms;
use fedhub_terminal::output::{self, structured};
use kube::Client;
use serde_json::Value;

use crate::args::Global;
use crate::host::environment::Environment;
use crate::host::program::Program;
use crate::problem::Problem;

/// The context that every command gets.
#[derive(Clone)]
pub struct Session {
    /// Client of the project's plane.
    pub client: Client,
    /// Client of the platform's root, where the catalogue of services is; `None` where the plane is no
    /// project's.
    pub root: Option<Client>,
    /// Namespace in the project.
    pub namespace: String,
    /// The project's name, where one is known.
    pub project: Option<String>,
    /// Flags of every command.
    pub global: Global,
    /// The properties of the process's standard streams.
    pub terminal: Terminal,
    /// The program that was called.
    pub program: Program,
}

impl Session {
    /// Connects as the flags, the environment and the kubeconfig say. No request is sent.
    pub async fn connect(
        program: Program,
        global: Global,
        environment: &Environment,
        terminal: Terminal,
    ) -> Result<Self, Problem> {
        let target = target::target(program, &global, environment)?;
        let connection = connect::connect(target).await?;
        let namespace = global.namespace.clone().unwrap_or(connection.namespace);
        target::check_namespace(&namespace)?;
        let client = connection.client;
        let root = connection.root;
        let project = connection.project;
        Ok(Self { client, root, namespace, project, global, terminal, program })
    }

    /// A session with that client, in the namespace `default` of no named project, without a terminal.
    pub fn with_client(client: Client, global: Global) -> Self {
        let namespace = global.namespace.clone().unwrap_or_else(|| NAMESPACE.to_owned());
        let terminal = Terminal::default();
        let program = Program::default();
        Self { client, root: None, namespace, project: global.project.clone(), global, terminal, program }
    }

    /// Prints data on standard output: the value where JSON or YAML is asked for, else what `text` makes.
    /// What others wrote is plain in it: the text has colours of this program.
    pub fn print(&self, value: impl FnOnce() -> Value, text: impl FnOnce() -> String) -> Result<(), Problem> {
        let format = self.global.output;
        let value = format.is_structured().then(value);
        let printed = value.and_then(|value| structured(format, &value)).unwrap_or_else(text);
        output::print(&printed).map_err(|error| {
            Problem::failed("Could not write to standard output.").raw(fedhub_core::errors::chain(&error))
        })
    }

    /// Prints a text that is no data, on standard error.
    pub fn tell(&self, text: &str) {
        output::print_error(text);
    }

    /// Whether the answer to a question is yes. It is awaited on a thread of its own, so that Ctrl-C ends the
    /// command meanwhile.
    pub async fn confirms(&self, question: &str, default: bool) -> bool {
        let question = question.to_owned();
        tokio::task::spawn_blocking(move || confirms(&question, default)).await.unwrap_or(false)
    }

    /// A command of this program, to be typed, with the flags that lead to the same place.
    pub fn command(&self, rest: &str) -> String {
        self.global.command(self.program, rest)
    }

    /// Names the place where objects of a namespace are looked for: `namespace "default" of this project`.
    pub fn place_in_words(&self) -> String {
        format!("namespace {:?} of {}", self.namespace, self.project_in_words())
    }

    /// The project in a sentence: `project "shop"`, or `this project`.
    pub fn project_in_words(&self) -> String {
        self.project.as_ref().map_or_else(|| "this project".to_owned(), |name| format!("project {name:?}"))
    }
}
