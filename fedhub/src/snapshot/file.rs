//! A file that is written whole or not at all, for its owner alone.

use std::io::Write;
use std::path::Path;

use anyhow::Context;

/// Writes it. What stands at the path is replaced, a link itself and not where it leads; others on this
/// machine can neither read the new file nor have it written elsewhere, because it begins under an
/// unpredictable name.
pub fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    let doing = || format!("failed to write {}", path.display());
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The file must not exist (O_EXCL), and gets the mode 0600.
    let mut partial =
        tempfile::Builder::new().prefix(".fedhub-").tempfile_in(directory).with_context(doing)?;
    partial.write_all(content).with_context(doing)?;
    partial.persist(path).with_context(doing)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn u4_a_snapshot_is_its_owners_alone_and_leads_nowhere_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("snapshot.json");
        let other = directory.path().join("other");
        write(&path, b"new").unwrap();
        assert_eq!(mode(&path), 0o600);
        // One that all may read is replaced by one that they may not.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write(&path, b"newer").unwrap();
        assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o600, b"newer".to_vec()));
        // A link of another user's, at the path itself and at the name that was predictable.
        fs::write(&other, "of another").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&other, &path).unwrap();
        symlink(&other, directory.path().join(".snapshot.json.partial")).unwrap();
        write(&path, b"newest").unwrap();
        assert_eq!(fs::read(&other).unwrap(), b"of another");
        assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o600, b"newest".to_vec()));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "no partial file is left");

        let missing = write(&directory.path().join("none/snapshot.json"), b"x").unwrap_err();
        assert!(missing.to_string().contains("failed to write"), "{missing}");
    }
}
