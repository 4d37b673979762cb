//! Unpacks programs from Debian packages: without root, and without touching what the machine has installed.
//!
//! `apt-get` is run with lists and archives of its own, and with the machine's package sources and keyrings:
//! a package comes from where the machine's own come from, and is verified in the same way.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::{DebianPackage, Moved, Recipe, Source, cache, run};
use crate::Error;
use crate::progress::Progress;

/// What is kept of a recipe's package; nothing where it has none.
fn package(recipe: Recipe) -> &'static DebianPackage {
    static NONE: DebianPackage = DebianPackage { programs: &[], whole: false, moved: None };
    match recipe.source {
        Source::Debian(package) => package,
        Source::Go(_) | Source::History => &NONE,
    }
}

/// The directory of a version: it names version and architecture, and changes with what is kept of the
/// package.
fn directory_name(recipe: Recipe, version: &str) -> String {
    cache::directory_name(recipe.name, &format!("deb-{version}"), &[&format!("{:?}", package(recipe))])
}

/// The package in the cache, whatever its version; of several the one that was fetched last.
pub fn kept(recipe: Recipe, bin: &Path) -> Result<Option<PathBuf>, Error> {
    if !bin.is_dir() {
        return Ok(None);
    }
    let empty = directory_name(recipe, "");
    let prefix = format!("{}-deb-", recipe.name);
    let hash = empty.strip_prefix(&prefix).unwrap_or_default();
    let mut found = Vec::new();
    for entry in fs::read_dir(bin).map_err(Error::file("list", bin))?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&prefix) && name.ends_with(hash) && entry.path().is_dir() {
            let fetched = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            found.push((fetched, entry.path()));
        }
    }
    Ok(found.into_iter().max().map(|(_, path)| path))
}

/// Fetches the package and unpacks its programs. Returns where they are below `scratch`, and where they
/// belong.
pub async fn fetch(
    recipe: Recipe,
    scratch: &Path,
    bin: &Path,
    progress: &Progress,
) -> Result<(PathBuf, PathBuf), Error> {
    progress.step(format!("{}: fetching the Debian package", recipe.name));
    let apt = Apt { recipe, scratch, bin };
    let DebianPackage { programs, whole, moved } = package(recipe);
    let archives = apt.download().await?;
    let archive = apt.own(&archives)?;
    let version = apt.field(archive, "Version").await?;
    let architecture = apt.field(archive, "Architecture").await?;
    let unpacked = scratch.join("unpacked");
    for archive in &archives {
        let mut command = Command::new("dpkg-deb");
        command.arg("-x").arg(archive).arg(&unpacked);
        run::output(command, || apt.missing("dpkg-deb")).await?;
    }
    let kept = bin.join(directory_name(recipe, &format!("{version}-{architecture}")));
    if *whole {
        return Ok((unpacked, kept));
    }
    let made = scratch.join("programs");
    fs::create_dir_all(&made).map_err(Error::file("create", &made))?;
    for program in *programs {
        let from = unpacked.join("usr/bin").join(program);
        if !from.is_file() {
            let package = format!("{} {version}", recipe.name);
            return Err(Error::DebianPackage { package, program });
        }
        let to = made.join(program);
        fs::rename(&from, &to).map_err(Error::file("move", &from))?;
        if let Some(moved) = moved {
            let content = fs::read(&to).map_err(Error::file("read", &to))?;
            fs::write(&to, replaced(content, moved)).map_err(Error::file("write", &to))?;
        }
    }
    if let Some(moved) = moved {
        for file in moved.files {
            let from = unpacked.join(moved.from.trim_start_matches('/')).join(file);
            // A version whose programs hold them has no such files.
            if from.is_file() {
                fs::rename(&from, made.join(file)).map_err(Error::file("move", &from))?;
            }
        }
    }
    Ok((made, kept))
}

/// A program that looks elsewhere for its files. Its strings stay where they are, for both paths have the
/// same length.
fn replaced(mut program: Vec<u8>, moved: &Moved) -> Vec<u8> {
    let from = moved.from.as_bytes();
    let to = moved.to.as_bytes();
    let mut at = 0;
    while let Some(found) = program[at..].windows(from.len()).position(|bytes| bytes == from) {
        at += found;
        program.splice(at..at + from.len(), to.iter().copied());
        at += to.len();
    }
    program
}

struct Apt<'a> {
    recipe: Recipe,
    scratch: &'a Path,
    bin: &'a Path,
}

impl Apt<'_> {
    /// The package file; where the whole package is kept, also those of the packages that it depends on and
    /// the machine has not, by the machine's own list of what is installed.
    async fn download(&self) -> Result<Vec<PathBuf>, Error> {
        let name = self.recipe.name;
        if package(self.recipe).whole {
            let installed = fs::read_to_string("/var/lib/dpkg/status").unwrap_or_default();
            // What the machine has is not fetched unless asked for.
            let arguments =
                ["install", "--download-only", "--reinstall", "--no-install-recommends", "--yes", name];
            self.archives(&installed, &arguments, "cache/archives").await
        } else {
            self.archives("", &["download", name], "archives").await
        }
    }

    /// The package files that `apt-get` leaves in a directory. Sources of the machine that do not answer do
    /// no harm as long as one has the package.
    async fn archives(
        &self,
        installed: &str,
        arguments: &[&str],
        below: &str,
    ) -> Result<Vec<PathBuf>, Error> {
        for directory in ["lists/partial", "cache/archives/partial", "archives"] {
            let path = self.scratch.join(directory);
            fs::create_dir_all(&path).map_err(Error::file("create", path))?;
        }
        let status = self.scratch.join("status");
        fs::write(&status, installed).map_err(Error::file("write", &status))?;
        let updated = self.apt_get(&["update"]).await;
        if let Err(error @ Error::DebianMissing { .. }) = updated {
            return Err(error);
        }
        // Why there is no package, the lists that could not be read say better.
        self.apt_get(arguments).await.map_err(|error| updated.err().unwrap_or(error))?;
        let directory = self.scratch.join(below);
        let entries = fs::read_dir(&directory).map_err(Error::file("list", &directory))?.flatten();
        Ok(entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|it| it == "deb"))
            .collect())
    }

    /// That of the package itself.
    fn own<'b>(&self, archives: &'b [PathBuf]) -> Result<&'b Path, Error> {
        let prefix = format!("{}_", self.recipe.name);
        let is_own =
            |path: &&PathBuf| path.file_name().is_some_and(|it| it.to_string_lossy().starts_with(&prefix));
        archives.iter().find(is_own).map(PathBuf::as_path).ok_or_else(|| Error::Pin {
            path: self.scratch.to_owned(),
            problem: format!("apt-get left no package {}", self.recipe.name),
        })
    }

    async fn apt_get(&self, arguments: &[&str]) -> Result<String, Error> {
        let mut command = Command::new("apt-get");
        for (option, below) in [
            ("Dir::State", ""),
            ("Dir::State::lists", "lists"),
            ("Dir::State::status", "status"),
            ("Dir::Cache", "cache"),
            ("Dir::Cache::archives", "cache/archives"),
        ] {
            command.arg("-o").arg(format!("{option}={}", self.scratch.join(below).display()));
        }
        // Without root there is no other user to download as, and with root that user may not write here.
        command.args(["-o", "APT::Sandbox::User=", "-o", "Acquire::Languages=none", "--quiet=2"]);
        command.args(arguments).env("LC_ALL", "C.UTF-8").current_dir(self.scratch.join("archives"));
        run::output(command, || self.missing("apt-get")).await
    }

    async fn field(&self, archive: &Path, name: &str) -> Result<String, Error> {
        let mut command = Command::new("dpkg-deb");
        command.arg("--field").arg(archive).arg(name);
        Ok(run::output(command, || self.missing("dpkg-deb")).await?.trim().to_owned())
    }

    fn missing(&self, program: &'static str) -> Error {
        let example = self.bin.join(directory_name(self.recipe, "VERSION"));
        Error::DebianMissing { program, tool: self.recipe.name, example }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tool;
    use super::*;

    #[test]
    fn a_path_is_replaced_by_one_as_long_that_means_the_directory_of_the_instance() {
        let moved = super::super::ALERTMANAGER.moved.as_ref().unwrap();
        assert_eq!(moved.from.len(), moved.to.len());
        assert_eq!(Path::new(moved.to).components().collect::<PathBuf>(), Path::new("scratch/alertmanager"));
        let program = [b"\0a", moved.from.as_bytes(), b"b\xff", moved.from.as_bytes(), b"/ui"].concat();
        let expected = [b"\0a", moved.to.as_bytes(), b"b\xff", moved.to.as_bytes(), b"/ui"].concat();
        assert_eq!(replaced(program, moved), expected);
        assert_eq!(replaced(b"none".to_vec(), moved), b"none");
    }

    #[test]
    fn a_version_that_is_kept_serves_and_one_of_another_recipe_does_not() {
        let bin = tempfile::tempdir().unwrap();
        let recipe = Tool::Prometheus.recipe();
        let missing = bin.path().join("missing");
        assert_eq!(kept(recipe, &missing).unwrap(), None);
        assert_eq!(kept(recipe, bin.path()).unwrap(), None);

        fs::create_dir(bin.path().join("prometheus-deb-1-0000000000000000")).unwrap();
        let other = directory_name(Tool::Alertmanager.recipe(), "1-amd64");
        fs::create_dir(bin.path().join(other)).unwrap();
        assert_eq!(kept(recipe, bin.path()).unwrap(), None);

        let own = bin.path().join(directory_name(recipe, "2.42.0+ds-5-amd64"));
        fs::create_dir(&own).unwrap();
        assert_eq!(kept(recipe, bin.path()).unwrap(), Some(own));
    }
}
