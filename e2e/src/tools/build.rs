//! Builds what the cache does not hold yet.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Command;

use super::{Built, Recipe, Tool, cache};
use crate::Error;
use crate::progress::Progress;

/// The built tool, from the cache or built now. Two callers at once build once.
pub async fn ensure(tool: Tool, progress: &Progress) -> Result<Built, Error> {
    let recipe = tool.recipe();
    let module_dir = crate::repository().join("e2e/tools").join(recipe.name);
    let (go_mod, version) = cache::read_pin(recipe, &module_dir)?;
    let go_sum_path = module_dir.join("go.sum");
    let go_sum = fs::read_to_string(&go_sum_path).map_err(Error::file("read", &go_sum_path))?;
    let go_version = go(recipe, &module_dir, &["env", "GOVERSION"]).await?;
    let ldflags = ldflags(recipe, &version);
    let name = cache::directory_name(
        recipe.name,
        &version,
        &[
            &go_mod,
            &go_sum,
            go_version.trim(),
            &ldflags,
            &format!("{:?}{:?}", recipe.programs, recipe.manifests),
        ],
    );
    let bin = cache::cache_root().join("bin");
    let dir = bin.join(&name);
    if dir.is_dir() {
        return Ok(Built { dir });
    }

    fs::create_dir_all(&bin).map_err(Error::file("create", &bin))?;
    let _lock = lock(bin.join(format!(".{}.lock", recipe.name)), recipe.name, progress).await?;
    if dir.is_dir() {
        return Ok(Built { dir });
    }
    let scratch_prefix = format!(".{}-building-", recipe.name);
    remove_leftovers(&bin, &scratch_prefix)?;
    let scratch = bin.join(format!("{scratch_prefix}{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(Error::file("create", &scratch))?;
    let scratch = Scratch(scratch);

    progress.step(format!("{} {version}: building (the first time {})", recipe.name, recipe.usual_time));
    for (program, package) in recipe.programs {
        let output = scratch.0.join(program).display().to_string();
        go(recipe, &module_dir, &["build", "-trimpath", "-ldflags", &ldflags, "-o", &output, package])
            .await?;
        progress.step(format!("{} {version}: {program}", recipe.name));
    }
    if !recipe.manifests.is_empty() {
        keep_manifests(recipe, &module_dir, &version, &scratch.0.join("manifests")).await?;
    }
    fs::rename(&scratch.0, &dir).map_err(Error::file("rename into place", &dir))?;
    progress.step(format!("{} {version}: built into {}", recipe.name, dir.display()));
    Ok(Built { dir })
}

/// Where a build puts its results until it is complete. Goes with this value, unless it was renamed.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What is left of a build that was killed. Only the holder of the lock may call this.
fn remove_leftovers(bin: &Path, prefix: &str) -> Result<(), Error> {
    let entries = fs::read_dir(bin).map_err(Error::file("list", bin))?;
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)) {
        fs::remove_dir_all(entry.path()).map_err(Error::file("remove", entry.path()))?;
    }
    Ok(())
}

/// Waits for the lock; it goes with the file handle, so a killed holder leaves none behind.
async fn lock(path: PathBuf, tool: &str, progress: &Progress) -> Result<fs::File, Error> {
    let file = fs::File::create(&path).map_err(Error::file("create", &path))?;
    if file.try_lock().is_ok() {
        return Ok(file);
    }
    progress.step(format!("{tool}: another build is in progress, waiting"));
    tokio::task::spawn_blocking(move || {
        file.lock().map_err(Error::file("lock", &path))?;
        Ok(file)
    })
    .await?
}

fn ldflags(recipe: &Recipe, version: &str) -> String {
    let mut flags = "-s -w".to_owned();
    if let Some(package) = recipe.version_package {
        let mut numbers = version.trim_start_matches('v').split('.');
        let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
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
    recipe: &Recipe,
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
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
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

/// Runs `go` in a tool's module directory. It gets a process group of its own, ended whole when this future is
/// dropped: `go` alone would leave its compilers behind.
async fn go(recipe: &Recipe, module_dir: &Path, arguments: &[&str]) -> Result<String, Error> {
    let mut command = Command::new("go");
    command.args(arguments).current_dir(module_dir).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).kill_on_drop(true);
    if let Some(toolchain) = recipe.toolchain {
        command.env("GOTOOLCHAIN", toolchain);
    }
    let child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::GoMissing,
        _ => Error::file("run", "go")(error),
    })?;
    let mut group = Group(child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw));
    let output = child.wait_with_output().await.map_err(Error::file("run", "go"))?;
    group.0 = None;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::Command {
        command: format!("go {}", arguments.join(" ")),
        status: output.status.to_string(),
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// A process group that ends with this value, unless it has ended by itself.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            let _ = killpg(leader, Signal::SIGTERM);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_its_version() {
        let flags = ldflags(Tool::Kubernetes.recipe(), "v1.36.3");
        assert!(flags.contains("-X k8s.io/component-base/version.gitVersion=v1.36.3"), "{flags}");
        assert!(flags.contains("gitMinor=36"), "{flags}");
        assert_eq!(ldflags(Tool::Etcd.recipe(), "v3.6.16"), "-s -w");
    }
}
