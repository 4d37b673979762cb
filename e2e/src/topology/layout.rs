//! Where an instance keeps its files: everything below one directory.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::Error;

/// The directory of one instance.
#[derive(Debug, Clone)]
pub struct Layout {
    name: String,
    root: PathBuf,
}

/// What an instance is made of. Only these are ever removed.
const PARTS: [&str; 10] =
    ["pki", "kubeconfigs", "fedhub", "cells", "components", "logs", "audit", "etcd", "scratch", "state.json"];

/// What is worth keeping when an instance has gone down.
const EVIDENCE: [&str; 2] = ["logs", "audit"];

impl Layout {
    /// The instance `name` below `$FEDHUB_PLANES_DIR`, else below `tmp/planes` of the repository.
    pub fn from_name(name: &str) -> Result<Self, Error> {
        let planes = std::env::var_os("FEDHUB_PLANES_DIR")
            .filter(|value| !value.is_empty())
            .map_or_else(|| crate::repository().join("tmp/planes"), PathBuf::from);
        Self::below(&planes, name)
    }

    /// The instance `name` below `planes`.
    pub fn below(planes: &Path, name: &str) -> Result<Self, Error> {
        let fits = (1..=40).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if !fits {
            return Err(Error::InstanceName(name.to_owned()));
        }
        // Processes are started from elsewhere, so every path of theirs has to be absolute.
        let planes = std::path::absolute(planes).map_err(Error::file("resolve", planes))?;
        Ok(Self { name: name.to_owned(), root: planes.join(name) })
    }

    /// The instance's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The directory of the instance.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Keys and certificates.
    pub fn pki(&self) -> PathBuf {
        self.root.join("pki")
    }

    /// A plane's administrator: `system:masters` by client certificate, for tests.
    pub fn kubeconfig(&self, plane: &str) -> PathBuf {
        self.root.join("kubeconfigs").join(format!("{plane}.yaml"))
    }

    /// fedhub's own identity on a plane.
    pub fn fedhub_kubeconfig(&self, plane: &str) -> PathBuf {
        self.root.join("fedhub").join(format!("{plane}.yaml"))
    }

    /// The cell role's own identity on a plane.
    pub fn cell_role_kubeconfig(&self, plane: &str) -> PathBuf {
        self.root.join("cells").join(format!("{plane}.yaml"))
    }

    /// The kubeconfig of a gateway that serves the planes of projects, which a suite starts.
    pub fn gateway(&self) -> PathBuf {
        self.scratch("gateway.yaml")
    }

    /// A component's identity on a plane, such as Karmada's controllers on the hub.
    pub fn component_kubeconfig(&self, component: &str, plane: &str) -> PathBuf {
        self.root.join("components").join(format!("{component}-{plane}.yaml"))
    }

    /// What a process writes.
    pub fn log(&self, process: &str) -> PathBuf {
        self.root.join("logs").join(format!("{process}.log"))
    }

    /// A plane's audit log: one JSON event on each line.
    pub fn audit_log(&self, plane: &str) -> PathBuf {
        self.root.join("audit").join(format!("{plane}.log"))
    }

    /// The policy that all audit logs are written by.
    pub fn audit_policy(&self) -> PathBuf {
        self.root.join("audit/policy.yaml")
    }

    /// An etcd's data.
    pub fn etcd_data(&self, etcd: &str) -> PathBuf {
        self.root.join("etcd").join(etcd)
    }

    /// A process's own directory, for what it insists on writing.
    pub fn scratch(&self, process: &str) -> PathBuf {
        self.root.join("scratch").join(process)
    }

    /// What runs and where.
    pub fn state(&self) -> PathBuf {
        self.root.join("state.json")
    }

    /// Makes the root, readable for its owner only: keys and tokens lie below it.
    pub fn create_root(&self) -> Result<(), Error> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(&self.root).map_err(Error::file("create", &self.root))
    }

    /// Makes the directories that files are written into.
    pub fn create(&self) -> Result<(), Error> {
        for part in PARTS.iter().filter(|part| **part != "state.json") {
            let path = self.root.join(part);
            fs::create_dir_all(&path).map_err(Error::file("create", path))?;
        }
        Ok(())
    }

    /// Removes all that an instance left.
    pub fn wipe(&self) -> Result<(), Error> {
        PARTS.iter().try_for_each(|part| self.remove(part))
    }

    /// Removes all but logs and audit logs: state, keys, tokens and data.
    pub fn wipe_but_evidence(&self) -> Result<(), Error> {
        PARTS.iter().filter(|part| !EVIDENCE.contains(part)).try_for_each(|part| self.remove(part))
    }

    fn remove(&self, part: &str) -> Result<(), Error> {
        let path = self.root.join(part);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::file("remove", path)(error))
            }
            _ => Ok(()),
        }
    }

    /// Takes the instance for one command. The lock goes with the returned file, so a killed command leaves
    /// none. Waits a while for a command that is on its way out.
    pub async fn lock(&self) -> Result<fs::File, Error> {
        self.create_root()?;
        let path = self.root.join("lock");
        let file = fs::File::create(&path).map_err(Error::file("create", &path))?;
        for _ in 0..300 {
            if file.try_lock().is_ok() {
                return Ok(file);
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        Err(Error::Locked(path))
    }
}

/// Writes a file whole or not at all.
pub(crate) fn write_atomically(path: &Path, content: &[u8]) -> Result<(), Error> {
    let scratch = path.with_extension("new");
    fs::write(&scratch, content).map_err(Error::file("write", &scratch))?;
    fs::rename(&scratch, path).map_err(Error::file("replace", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_directory() {
        for name in ["", "..", "a/b", "A", "a b", &"a".repeat(41)] {
            assert!(Layout::below(Path::new("/planes"), name).is_err(), "{name:?}");
        }
        assert_eq!(Layout::below(Path::new("/planes"), "run-2").unwrap().root(), Path::new("/planes/run-2"));
    }

    #[test]
    fn what_is_not_an_instances_own_survives() {
        let planes = tempfile::tempdir().unwrap();
        let layout = Layout::below(planes.path(), "x").unwrap();
        layout.create_root().unwrap();
        layout.create().unwrap();
        fs::write(layout.root().join("notes"), "mine").unwrap();
        fs::write(layout.log("etcd"), "line").unwrap();
        layout.wipe_but_evidence().unwrap();
        assert!(layout.log("etcd").exists() && !layout.pki().exists());
        layout.wipe().unwrap();
        assert!(!layout.log("etcd").exists() && layout.root().join("notes").exists());
    }
}
