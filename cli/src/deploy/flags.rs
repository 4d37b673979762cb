//! The flags that describe a Workload, as they are written.

use clap::Args;
use fedhub_api::{IntOrPercent, MOST_REPLICAS};

/// The flags of `deploy` that say what a Workload is to be. On one that is there, they change what they name
/// and nothing else.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[group(id = "workload", multiple = true, conflicts_with = "file")]
pub struct Flags {
    /// Image to run, with its registry.
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// Cities to run in, such as DFW,ORD. On a workload that is there, all of the placement's cities.
    #[arg(long, alias = "location", value_name = "CITY", value_delimiter = ',')]
    pub city: Vec<String>,
    /// Placement that --city and the numbers are about. Needed only where a workload has several.
    #[arg(long, value_name = "NAME")]
    pub placement: Option<String>,
    /// Number of instances in each city; 1 for a new workload.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(0..))]
    pub min: Option<i32>,
    /// Most instances in each city when scaling by --cpu-percent or --memory-percent; 0 turns scaling off.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(0..))]
    pub max: Option<i32>,
    /// Average CPU use to scale at, in percent; 0 removes it.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(i32).range(0..))]
    pub cpu_percent: Option<i32>,
    /// Average memory use to scale at, in percent; 0 removes it.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(i32).range(0..))]
    pub memory_percent: Option<i32>,
    /// Instances of a city that may be missing while a new template replaces them; 1 unless said.
    #[arg(long, value_name = "COUNT|PERCENT%", value_parser = share)]
    pub max_unavailable: Option<IntOrPercent>,
    /// Instances that a city may have too many while a new template replaces them; 0 unless said.
    #[arg(long, value_name = "COUNT|PERCENT%", value_parser = share)]
    pub max_surge: Option<IntOrPercent>,
    /// Size of the instances; see the command instance-types.
    #[arg(long, value_name = "INSTANCE_TYPE")]
    pub instance_type: Option<String>,
    /// Environment variable; KEY- removes one.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    pub env: Vec<Edit<Variable>>,
    /// All keys of a config map as environment variables; NAME- removes them.
    #[arg(long, value_name = "NAME[:PREFIX_]", value_parser = keys)]
    pub env_from_configmap: Vec<Edit<Keys>>,
    /// All keys of a secret as environment variables; NAME- removes them.
    #[arg(long, value_name = "NAME[:PREFIX_]", value_parser = keys)]
    pub env_from_secret: Vec<Edit<Keys>>,
    /// Config map whose keys are files in a directory; NAME- removes it.
    #[arg(long, value_name = "NAME:/PATH", value_parser = mount)]
    pub configmap: Vec<Edit<Mount>>,
    /// Secret whose keys are files in a directory; NAME- removes it.
    #[arg(long, value_name = "NAME:/PATH", value_parser = mount)]
    pub secret: Vec<Edit<Mount>>,
    /// Port that the image answers HTTP on: it gets a public URL, where the project publishes any.
    #[arg(long, value_name = "PORT")]
    pub http_port: Option<i32>,
    /// Take the HTTP port and its public URL away.
    #[arg(long, conflicts_with = "http_port")]
    pub no_http: bool,
    /// Network to join; `default` for a new workload.
    #[arg(long, value_name = "NAME")]
    pub network: Option<String>,
    /// Label of the workload; KEY- removes one.
    #[arg(long, value_name = "KEY=VALUE", value_parser = variable)]
    pub label: Vec<Edit<Variable>>,
}

/// A change that a flag asks for, by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit<T> {
    /// Sets this entry.
    Set(T),
    /// Removes the entry of this key.
    Remove(String),
}

/// A variable or a label, by its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

/// All keys of a `ConfigMap` or Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The name of the object.
    pub name: String,
    /// Put before each key.
    pub prefix: Option<String>,
}

/// A `ConfigMap` or Secret as files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The name of the object.
    pub name: String,
    /// The directory.
    pub path: String,
}

/// `COUNT`, or `PERCENT%`.
pub fn share(text: &str) -> Result<IntOrPercent, String> {
    let share = text.parse().map_or_else(|_| IntOrPercent::Percent(text.to_owned()), IntOrPercent::Int);
    match share.rounded_up(MOST_REPLICAS) {
        Some(_) => Ok(share),
        None => Err("a number from 0 to 1000, or a percentage from 0% to 100%".to_owned()),
    }
}

/// `KEY=VALUE`, or `KEY-`.
pub fn variable(text: &str) -> Result<Edit<Variable>, String> {
    let set =
        |(key, value): (&str, &str)| Edit::Set(Variable { key: key.to_owned(), value: value.to_owned() });
    named(
        text.split_once('=')
            .map(set)
            .or_else(|| text.strip_suffix('-').map(|key| Edit::Remove(key.to_owned()))),
        "KEY=VALUE sets, KEY- removes",
    )
}

/// `NAME`, `NAME:PREFIX_`, or `NAME-`.
pub fn keys(text: &str) -> Result<Edit<Keys>, String> {
    let edit = match (text.split_once(':'), text.strip_suffix('-')) {
        (Some((name, prefix)), _) => {
            Edit::Set(Keys { name: name.to_owned(), prefix: Some(prefix.to_owned()) })
        }
        (None, Some(name)) => Edit::Remove(name.to_owned()),
        (None, None) => Edit::Set(Keys { name: text.to_owned(), prefix: None }),
    };
    named(Some(edit), "NAME or NAME:PREFIX_ adds, NAME- removes")
}

/// `NAME:/PATH`, or `NAME-`.
pub fn mount(text: &str) -> Result<Edit<Mount>, String> {
    let set = |(name, path): (&str, &str)| {
        let name = name.to_owned();
        let path = path.to_owned();
        path.starts_with('/').then_some(Edit::Set(Mount { name, path }))
    };
    let edit = match text.split_once(':') {
        Some(pair) => set(pair),
        None => text.strip_suffix('-').map(|name| Edit::Remove(name.to_owned())),
    };
    named(edit, "NAME:/PATH adds, with an absolute path; NAME- removes")
}

fn named<T: Keyed>(edit: Option<Edit<T>>, rule: &str) -> Result<Edit<T>, String> {
    edit.filter(|edit| !edit.key().is_empty()).ok_or_else(|| rule.to_owned())
}

/// An entry of a list, which has a key.
pub trait Keyed {
    /// The key.
    fn key(&self) -> &str;
}

impl Keyed for Variable {
    fn key(&self) -> &str {
        &self.key
    }
}

impl Keyed for Keys {
    fn key(&self) -> &str {
        &self.name
    }
}

impl Keyed for Mount {
    fn key(&self) -> &str {
        &self.name
    }
}

impl<T: Keyed> Keyed for Edit<T> {
    fn key(&self) -> &str {
        match self {
            Self::Set(it) => it.key(),
            Self::Remove(key) => key,
        }
    }
}

impl Flags {
    /// The first flag that is about the container.
    pub fn of_container(&self) -> Option<&'static str> {
        let given = [
            ("--image", self.image.is_some()),
            ("--env", !self.env.is_empty()),
            ("--env-from-configmap", !self.env_from_configmap.is_empty()),
            ("--env-from-secret", !self.env_from_secret.is_empty()),
            ("--configmap", !self.configmap.is_empty()),
            ("--secret", !self.secret.is_empty()),
            ("--http-port", self.http_port.is_some()),
            ("--no-http", self.no_http),
        ];
        given.into_iter().find_map(|(flag, given)| given.then_some(flag))
    }

    /// The first flag that is about one placement.
    pub fn of_placement(&self) -> Option<&'static str> {
        let given = [
            ("--placement", self.placement.is_some()),
            ("--city", !self.city.is_empty()),
            ("--min", self.min.is_some()),
            ("--max", self.max.is_some()),
            ("--cpu-percent", self.cpu_percent.is_some()),
            ("--memory-percent", self.memory_percent.is_some()),
            ("--max-unavailable", self.max_unavailable.is_some()),
            ("--max-surge", self.max_surge.is_some()),
        ];
        given.into_iter().find_map(|(flag, given)| given.then_some(flag))
    }
}
