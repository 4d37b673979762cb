//! Builds or fetches what the cache does not hold yet.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Built, Source, Tool, cache, debian, go, history};
use crate::Error;
use crate::progress::Progress;

/// The tool, from the cache, or built or fetched now. Two callers at once do it once.
pub async fn ensure(tool: Tool, progress: &Progress) -> Result<Built, Error> {
    let name = tool.name();
    let bin = cache::cache_root().join("bin");
    let pinned = match tool.recipe().source {
        Source::Go(recipe) => Some(Pinned::Go(go::pinned(name, recipe).await?)),
        Source::History => Some(Pinned::History(history::pinned(name).await?)),
        Source::Debian(_) => None,
    };
    // The version of a Debian package is known once it was fetched: any that is there serves.
    let kept = || match &pinned {
        Some(pinned) => Ok(Some(bin.join(pinned.name())).filter(|dir| dir.is_dir())),
        None => debian::kept(tool.recipe(), &bin),
    };
    if let Some(dir) = kept()? {
        return Ok(Built { dir });
    }

    fs::create_dir_all(&bin).map_err(Error::file("create", &bin))?;
    let _lock = lock(bin.join(format!(".{name}.lock")), name, progress).await?;
    if let Some(dir) = kept()? {
        return Ok(Built { dir });
    }
    let scratch_prefix = format!(".{name}-building-");
    remove_leftovers(&bin, &scratch_prefix)?;
    let scratch = bin.join(format!("{scratch_prefix}{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(Error::file("create", &scratch))?;
    let scratch = Scratch(scratch);

    let (made, dir) = match &pinned {
        Some(pinned) => {
            pinned.build(name, &scratch.0, progress).await?;
            (scratch.0.clone(), bin.join(pinned.name()))
        }
        None => debian::fetch(tool.recipe(), &scratch.0, &bin, progress).await?,
    };
    fs::rename(&made, &dir).map_err(Error::file("rename into place", &dir))?;
    progress.step(format!("{name}: kept in {}", dir.display()));
    Ok(Built { dir })
}

/// What is built from source, and so known before it is built.
enum Pinned {
    Go(go::Pinned),
    History(history::Pinned),
}

impl Pinned {
    fn name(&self) -> &str {
        match self {
            Self::Go(pinned) => &pinned.name,
            Self::History(pinned) => &pinned.name,
        }
    }

    async fn build(&self, tool: &str, into: &Path, progress: &Progress) -> Result<(), Error> {
        match self {
            Self::Go(pinned) => pinned.build(tool, into, progress).await,
            Self::History(pinned) => pinned.build(tool, into, progress).await,
        }
    }
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
