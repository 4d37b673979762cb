//! Builds fedhub as it was at a commit of this repository.

use std::fs;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::run;
use crate::Error;
use crate::progress::Progress;

/// A commit, by its full id.
pub struct Pinned {
    commit: String,
    /// The name of the directory that holds what is built.
    pub name: String,
}

/// The commit that `e2e/tools/<name>/commit` names. Fails where the clone does not hold it: a shallow one.
pub async fn pinned(name: &str) -> Result<Pinned, Error> {
    let path = crate::repository().join("e2e/tools").join(name).join("commit");
    let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let commit = text.lines().find(|line| !line.starts_with('#')).unwrap_or_default().trim().to_owned();
    let object = format!("{commit}^{{commit}}");
    if git(&["cat-file", "-e", &object]).await.is_err() {
        return Err(Error::NotInHistory { commit, path });
    }
    let name = format!("{name}-{}", commit.get(..12).unwrap_or(&commit));
    Ok(Pinned { commit, name })
}

impl Pinned {
    /// Builds the program into a directory.
    pub async fn build(&self, tool: &str, into: &Path, progress: &Progress) -> Result<(), Error> {
        let commit = &self.commit;
        let source = into.join("source");
        progress.step(format!("{tool} {commit}: building (the first time about four minutes)"));
        fs::create_dir_all(&source).map_err(Error::file("create", &source))?;
        let archive = into.join("source.tar");
        git(&["archive", "--format=tar", "--output", &archive.display().to_string(), commit]).await?;
        let mut unpack = Command::new("tar");
        unpack.arg("-xf").arg(&archive).arg("-C").arg(&source);
        run::output(unpack, || missing("tar")).await?;
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--locked", "-p", "fedhub", "--bin", "fedhub", "--target-dir"]);
        cargo.arg(source.join("target")).current_dir(&source);
        // What a caller's cargo has set concerns the caller's checkout.
        cargo.env_remove("CARGO_TARGET_DIR").env("CARGO_INCREMENTAL", "0");
        run::output(cargo, || missing("cargo")).await?;
        let from = source.join("target/debug/fedhub");
        let to = into.join("fedhub");
        fs::rename(&from, &to).map_err(Error::file("move", &from))?;
        fs::remove_file(&archive).map_err(Error::file("remove", &archive))?;
        fs::remove_dir_all(&source).map_err(Error::file("remove", &source))
    }
}

async fn git(arguments: &[&str]) -> Result<String, Error> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(crate::repository());
    run::output(command, || missing("git")).await
}

fn missing(program: &str) -> Error {
    Error::file("run", PathBuf::from(program))(std::io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_previous_release_is_a_commit_or_the_clone_is_shallow() {
        match pinned("previous-release").await {
            Ok(pinned) => assert!(pinned.commit.len() == 40 && pinned.commit.starts_with(&pinned.name[17..])),
            Err(Error::NotInHistory { commit, .. }) => assert_eq!(commit.len(), 40),
            Err(error) => panic!("{error}"),
        }
    }
}
