//! Builds programs from a pinned Go module.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::{GoModule, cache, run};
use crate::Error;
use crate::progress::Progress;

/// A pinned module, and everything that goes into what is built from it.
pub struct Pinned {
    recipe: &'static GoModule,
    directory: PathBuf,
    version: String,
    ldflags: String,
    /// The name of the directory that holds what is built.
    pub name: String,
}

/// What `e2e/tools/<name>` pins.
pub async fn pinned(name: &str, recipe: &'static GoModule) -> Result<Pinned, Error> {
    let directory = crate::repository().join("e2e/tools").join(name);
    let (go_mod, version) = cache::read_pin(recipe, &directory)?;
    let go_sum_path = directory.join("go.sum");
    let go_sum = fs::read_to_string(&go_sum_path).map_err(Error::file("read", &go_sum_path))?;
    let sources = sources(&directory)?;
    let go_version = go(recipe, &directory, &["env", "GOVERSION"]).await?;
    let ldflags = ldflags(recipe, &version);
    let programs = format!("{:?}{:?}", recipe.programs, recipe.manifests);
    let mut inputs = vec![&*go_mod, &*go_sum, go_version.trim(), &*ldflags, &*programs];
    inputs.extend(sources.as_deref());
    let name = cache::directory_name(name, &version, &inputs);
    Ok(Pinned { recipe, directory, version, ldflags, name })
}

/// The Go source beside the pin, where the programs are not the module's own.
fn sources(directory: &Path) -> Result<Option<String>, Error> {
    let path = directory.join("main.go");
    match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(Error::file("read", path)),
    }
}

impl Pinned {
    /// Builds the programs into a directory.
    pub async fn build(&self, tool: &str, into: &Path, progress: &Progress) -> Result<(), Error> {
        let Self { recipe, directory, version, ldflags, .. } = self;
        progress.step(format!("{tool} {version}: building (the first time {})", recipe.usual_time));
        for (program, package) in recipe.programs {
            let output = into.join(program).display().to_string();
            go(recipe, directory, &["build", "-trimpath", "-ldflags", ldflags, "-o", &output, package])
                .await?;
            progress.step(format!("{tool} {version}: {program}"));
        }
        if !recipe.manifests.is_empty() {
            keep_manifests(recipe, directory, version, &into.join("manifests")).await?;
        }
        Ok(())
    }
}

fn ldflags(recipe: &GoModule, version: &str) -> String {
    let mut flags = "-s -w".to_owned();
    if let Some(package) = recipe.version_package {
        let mut numbers = version.trim_start_matches('v').split('.');
        let major = numbers.next().unwrap_or_default();
        let minor = numbers.next().unwrap_or_default();
        for (name, value) in
            [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor), ("gitTreeState", "clean")]
        {
            let _ = write!(flags, " -X {package}.{name}={value}");
        }
    }
    flags
}

/// Copies the recipe's manifests out of the module cache: `up` then needs no module cache.
async fn keep_manifests(
    recipe: &GoModule,
    module_dir: &Path,
    version: &str,
    target: &Path,
) -> Result<(), Error> {
    let module = format!("{}@{version}", recipe.module);
    let answer = go(recipe, module_dir, &["mod", "download", "-json", &module]).await?;
    let source = serde_json::from_str::<serde_json::Value>(&answer)
        .ok()
        .and_then(|answer| answer["Dir"].as_str().map(PathBuf::from))
        .ok_or_else(|| Error::Pin {
            path: module_dir.join("go.mod"),
            problem: format!("`go mod download -json {module}` named no directory"),
        })?;
    for path in recipe.manifests {
        copy(&source.join(path), &target.join(path))?;
    }
    Ok(())
}

/// Copies a file or a tree; unlike the module cache's, the copies are writable.
pub fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    if from.is_dir() {
        fs::create_dir_all(to).map_err(Error::file("create", to))?;
        for entry in fs::read_dir(from).map_err(Error::file("list", from))?.flatten() {
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(Error::file("create", parent))?;
    }
    let content = fs::read(from).map_err(Error::file("read", from))?;
    fs::write(to, content).map_err(Error::file("write", to))
}

/// Runs `go` in a tool's module directory.
async fn go(recipe: &GoModule, module_dir: &Path, arguments: &[&str]) -> Result<String, Error> {
    let mut command = Command::new("go");
    command.args(arguments).current_dir(module_dir);
    if let Some(toolchain) = recipe.toolchain {
        command.env("GOTOOLCHAIN", toolchain);
    }
    run::output(command, || Error::GoMissing).await
}

#[cfg(test)]
mod tests {
    use super::super::{ETCD, KUBERNETES};
    use super::*;

    #[test]
    fn a_program_is_told_its_version() {
        let flags = ldflags(&KUBERNETES, "v1.36.3");
        assert!(flags.contains("-X k8s.io/component-base/version.gitVersion=v1.36.3"), "{flags}");
        assert!(flags.contains("gitMinor=36"), "{flags}");
        assert_eq!(ldflags(&ETCD, "v3.6.16"), "-s -w");
    }
}
