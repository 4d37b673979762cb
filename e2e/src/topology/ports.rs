//! Free ports, also when two instances choose at the same time.
//!
//! A port is reserved by a file named after it, in a directory that all instances of a user share; the file
//! names the instance. A reservation lasts until the instance is taken down, so a process that is stopped for
//! a while finds its port free when it is started again. The range lies below the ephemeral ports, for an
//! outgoing connection could otherwise occupy a port that we chose. A process that does not use this
//! directory can still be quicker than ours: `up` then starts over with other ports.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use super::layout::Layout;
use crate::Error;
use crate::tools::cache_root;

const FROM: u16 = 20_000;
const TO: u16 = 32_000;

/// Shared by all instances of a user.
pub(crate) fn ports_directory() -> PathBuf {
    cache_root().join("ports")
}

/// Reserves a port for each name.
pub fn reserve(directory: &Path, layout: &Layout, names: &[String]) -> Result<BTreeMap<String, u16>, Error> {
    fs::create_dir_all(directory).map_err(Error::file("create", directory))?;
    let _lock = lock(directory)?;
    let owner = layout.root().display().to_string();
    let mut ports = BTreeMap::new();
    let mut candidates = FROM..TO;
    for name in names {
        let port = candidates
            .by_ref()
            .find(|port| !is_reserved(directory, *port) && is_free(*port))
            .ok_or(Error::NoPorts { from: FROM, to: TO })?;
        let file = reservation(directory, port);
        fs::write(&file, &owner).map_err(Error::file("write", file))?;
        ports.insert(name.clone(), port);
    }
    Ok(ports)
}

/// Gives up every port of an instance.
pub fn release(directory: &Path, layout: &Layout) -> Result<(), Error> {
    if !directory.is_dir() {
        return Ok(());
    }
    let _lock = lock(directory)?;
    let owner = layout.root().display().to_string();
    for entry in fs::read_dir(directory).map_err(Error::file("list", directory))?.flatten() {
        if fs::read_to_string(entry.path()).is_ok_and(|content| content == owner) {
            fs::remove_file(entry.path()).map_err(Error::file("remove", entry.path()))?;
        }
    }
    Ok(())
}

fn reservation(directory: &Path, port: u16) -> PathBuf {
    directory.join(port.to_string())
}

/// Held for milliseconds, so that waiting for it needs no limit.
fn lock(directory: &Path) -> Result<fs::File, Error> {
    let path = directory.join("lock");
    let file = fs::File::create(&path).map_err(Error::file("create", &path))?;
    file.lock().map_err(Error::file("lock", path))?;
    Ok(file)
}

/// A reservation of an instance whose directory was removed is void. One whose `state.json` does not exist
/// yet is not: the instance is just starting.
fn is_reserved(directory: &Path, port: u16) -> bool {
    fs::read_to_string(reservation(directory, port)).is_ok_and(|owner| Path::new(&owner).is_dir())
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(planes: &Path, name: &str) -> Layout {
        let layout = Layout::below(planes, name).unwrap();
        layout.create_root().unwrap();
        layout
    }

    #[test]
    fn two_instances_never_share_a_port_and_a_release_frees_only_ones_own() {
        let scratch = tempfile::tempdir().unwrap();
        let one = instance(scratch.path(), "one");
        let two = instance(scratch.path(), "two");
        let directory = scratch.path().join("ports");
        let names = ["a".to_owned(), "b".to_owned()];
        let first = reserve(&directory, &one, &names).unwrap();
        let second = reserve(&directory, &two, &names).unwrap();
        assert!(first.values().all(|port| !second.values().any(|other| other == port)));
        // Which ports are reserved, and not which are chosen next: that is also up to other processes.
        release(&directory, &one).unwrap();
        assert!(first.values().all(|port| !is_reserved(&directory, *port)));
        assert!(second.values().all(|port| is_reserved(&directory, *port)));
    }

    #[test]
    fn the_reservations_of_a_removed_instance_are_void() {
        let scratch = tempfile::tempdir().unwrap();
        let gone = instance(scratch.path(), "gone");
        let directory = scratch.path().join("ports");
        let ports = reserve(&directory, &gone, &["a".to_owned()]).unwrap();
        fs::remove_dir_all(gone.root()).unwrap();
        assert!(ports.values().all(|port| !is_reserved(&directory, *port)));
    }

    #[test]
    fn a_port_in_use_is_passed_over() {
        let scratch = tempfile::tempdir().unwrap();
        let layout = instance(scratch.path(), "x");
        let directory = scratch.path().join("ports");
        let port = reserve(&directory, &layout, &["a".to_owned()]).unwrap()["a"];
        release(&directory, &layout).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", port));
        let next = reserve(&directory, &layout, &["a".to_owned()]).unwrap()["a"];
        assert!(listener.is_err() || next != port);
    }
}
