//! What is on disk: a file and a directory for each server, by its name.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::command::Command;

/// A server, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The UID of its Instance.
    pub instance: String,
    /// The project that it is of.
    pub project: String,
    /// The network that it is on.
    pub network: String,
    /// What it runs.
    pub command: Command,
    /// Its address.
    pub address: Ipv4Addr,
    /// Whether it is to run.
    pub runs: bool,
    /// When the command was last started.
    pub started: Option<Timestamp>,
    /// Since when the process is asked to end, where it is.
    pub stopping: Option<Timestamp>,
    /// Since when the server is being deleted, where it is.
    pub deleting: Option<Timestamp>,
}

/// The directory of a provider.
pub struct Folder {
    path: PathBuf,
    /// Keeps another provider away for as long as this one lives.
    _lock: fs::File,
}

impl Folder {
    /// The directory at `path`, which is made if it is missing.
    ///
    /// # Errors
    ///
    /// Where it cannot be made, or another provider uses it.
    pub fn open(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        // Commands are started in directories of their own.
        let path = path.canonicalize()?;
        let lock = fs::File::create(path.join("lock"))?;
        lock.try_lock()?;
        Ok(Self { path, _lock: lock })
    }

    /// The directory of a server: its process's PID, its log, and where it works.
    pub fn directory(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.json"))
    }

    /// The server of that name.
    pub fn read(&self, name: &str) -> io::Result<Option<Stored>> {
        match fs::read(self.file(name)) {
            Ok(content) => Ok(Some(serde_json::from_slice(&content)?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The names of all servers.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let file = entry?.file_name();
            names.extend(file.to_str().and_then(|file| file.strip_suffix(".json")).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// Stores a new server, whole or not at all. Returns `false` where one has that name: this is what keeps
    /// an Instance at one server.
    pub fn create(&self, name: &str, server: &Stored) -> io::Result<bool> {
        match self.draft(server)?.persist_noclobber(self.file(name)) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    }

    /// Stores a server that is there.
    pub fn write(&self, name: &str, server: &Stored) -> io::Result<()> {
        self.draft(server)?.persist(self.file(name)).map(|_| ()).map_err(|error| error.error)
    }

    /// Forgets a server, its directory first: what is left halfway is still known.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_dir_all(self.directory(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::remove_file(self.file(name))
    }

    fn draft(&self, server: &Stored) -> io::Result<tempfile::NamedTempFile> {
        let file = tempfile::NamedTempFile::new_in(&self.path)?;
        serde_json::to_writer(&file, server)?;
        Ok(file)
    }
}
