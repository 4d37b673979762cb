//! Where built programs are kept, and under which name.

use std::path::{Path, PathBuf};

use super::GoModule;
use crate::Error;

/// `$FEDHUB_CACHE`, else `$XDG_CACHE_HOME/fedhub`, else `~/.cache/fedhub`: outside every checkout, shared by
/// all.
pub fn cache_root() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("FEDHUB_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("fedhub")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/fedhub")))
        .unwrap_or_else(|| std::env::temp_dir().join("fedhub-cache"))
}

/// The version that `module` is pinned to in the text of a go.mod.
pub(super) fn pinned_version<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| {
        let line = line.trim().strip_prefix("require ").unwrap_or(line.trim());
        let mut words = line.split_whitespace();
        (words.next() == Some(module)).then(|| words.next()).flatten().filter(|word| word.starts_with('v'))
    })
}

/// The go.mod of a module and the version it pins.
pub(super) fn read_pin(recipe: &GoModule, module_dir: &Path) -> Result<(String, String), Error> {
    let path = module_dir.join("go.mod");
    let text = std::fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let version = pinned_version(&text, recipe.module).ok_or_else(|| Error::Pin {
        path: path.clone(),
        problem: format!("does not require {}", recipe.module),
    })?;
    let version = version.to_owned();
    Ok((text, version))
}

/// `<tool>-<version>-<hash of everything that goes into the build>`.
pub(super) fn directory_name(tool: &str, version: &str, inputs: &[&str]) -> String {
    format!("{tool}-{version}-{:016x}", fingerprint(inputs))
}

/// FNV-1a over the inputs, each closed by a byte that text does not hold. It names a directory and guards
/// nothing: go.sum or signed Release files vouch for what is downloaded.
fn fingerprint(inputs: &[&str]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    inputs
        .iter()
        .flat_map(|input| input.bytes().chain([0xff]))
        .fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_a_block_and_on_a_line_of_its_own() {
        let block = "module x\n\nrequire (\n\tgo.etcd.io/etcd/server/v3 v3.6.16 // indirect\n)\n";
        assert_eq!(pinned_version(block, "go.etcd.io/etcd/server/v3"), Some("v3.6.16"));
        let line = "module x\nrequire go.etcd.io/etcd/server/v3 v3.6.16\n";
        assert_eq!(pinned_version(line, "go.etcd.io/etcd/server/v3"), Some("v3.6.16"));
    }

    #[test]
    fn a_tool_line_is_not_a_version() {
        let text = "tool go.etcd.io/etcd/server/v3\ntool (\n\tk8s.io/kubernetes/cmd/kubectl\n)\n";
        assert_eq!(pinned_version(text, "go.etcd.io/etcd/server/v3"), None);
        assert_eq!(pinned_version(text, "k8s.io/kubernetes/cmd/kubectl"), None);
    }

    #[test]
    fn the_name_changes_with_every_input_and_with_where_one_ends() {
        let name = |inputs: &[&str]| directory_name("etcd", "v1", inputs);
        assert_eq!(name(&["a", "b"]), name(&["a", "b"]));
        assert_ne!(name(&["a", "b"]), name(&["ab", ""]));
        assert_ne!(name(&["a", "b"]), name(&["a", "c"]));
        assert!(name(&["a"]).starts_with("etcd-v1-"));
    }
}
