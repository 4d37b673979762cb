//! What a run logged is searched for every token, key and password that was in use: fedhub's logs must hold
//! none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::ByteString;
use serde_json::Value;

use crate::Error;
use crate::topology::Layout;

/// A word that is in every credential that a suite makes up.
pub const MADE_UP: &str = "never-to-be-logged";
/// Pieces of this many characters are searched for, so that a part of a secret is found, too. No text that is
/// public holds such a piece of a key or of a token's signature.
const PIECE: usize = 32;

/// A secret that a log holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// The log.
    pub log: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
    /// The file that holds the secret, or what it is an example of.
    pub secret: String,
}

/// Searches the logs of fedhub, and of the simulated services, for the credentials of an instance.
pub fn search(layout: &Layout) -> Result<Vec<Leak>, Error> {
    let pieces = credentials(layout.root())?;
    let mut leaks = Vec::new();
    for log in files(&layout.root().join("logs"))? {
        let name = log.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("fedhub") || name.starts_with("simulate") {
            let content = fs::read(&log).map_err(Error::file("read", &log))?;
            let found = found(&String::from_utf8_lossy(&content), &pieces);
            leaks.extend(found.into_iter().map(|(line, secret)| Leak { log: log.clone(), line, secret }));
        }
    }
    Ok(leaks)
}

/// Pieces of all secrets below `root`, each with the file that it is from.
fn credentials(root: &Path) -> Result<BTreeMap<String, String>, Error> {
    let mut pieces = BTreeMap::new();
    for part in ["pki", "kubeconfigs", "fedhub", "cells", "components"] {
        for path in files(&root.join(part))? {
            let content = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            let secrets = match path.extension().and_then(|extension| extension.to_str()) {
                Some("yaml") => of_kubeconfig(&content),
                Some("key") => vec![content],
                Some("csv") => content.split(',').take(1).map(str::to_owned).collect(),
                _ => Vec::new(),
            };
            pieces.extend(secrets.iter().flat_map(|secret| split(secret)).map(|piece| (piece, name.clone())));
        }
    }
    Ok(pieces)
}

/// The tokens, passwords and keys of a kubeconfig, keys as they are written there and as they are.
fn of_kubeconfig(content: &str) -> Vec<String> {
    let kubeconfig: Value = serde_saphyr::from_str(content).unwrap_or_default();
    let mut secrets = Vec::new();
    for user in kubeconfig["users"].as_array().into_iter().flatten().map(|user| &user["user"]) {
        let text = |field: &str| user[field].as_str().map(str::to_owned);
        secrets.extend([text("token"), text("password"), text("client-key-data")].into_iter().flatten());
        let key: Option<ByteString> = serde_json::from_value(user["client-key-data"].clone()).ok();
        secrets.extend(key.and_then(|key| String::from_utf8(key.0).ok()));
    }
    secrets
}

/// What is secret of a secret, in pieces: of a token that is signed the signature, of a key what stands
/// between its first and its last line.
fn split(secret: &str) -> Vec<String> {
    let lines = secret.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("-----"));
    let whole = lines.map(|line| line.rsplit('.').next().unwrap_or(line).to_owned()).flat_map(|line| {
        let chars: Vec<char> = line.chars().collect();
        let pieces = chars.chunks(PIECE).filter(|piece| piece.len() == PIECE.min(chars.len()));
        pieces.map(String::from_iter).collect::<Vec<_>>()
    });
    whole.filter(|piece| piece.len() >= 8).collect()
}

/// The lines of a log that hold a piece, each with what it is from.
fn found(log: &str, pieces: &BTreeMap<String, String>) -> Vec<(usize, String)> {
    let made_up = (MADE_UP.to_owned(), "a credential that a suite made up".to_owned());
    let all = pieces.iter().chain(std::iter::once((&made_up.0, &made_up.1)));
    let held: Vec<_> = all.filter(|(piece, _)| log.contains(piece.as_str())).collect();
    let held_by = |line: &str| held.iter().find(|(piece, _)| line.contains(piece.as_str()));
    let lines = log.lines().enumerate();
    lines.filter_map(|(number, line)| held_by(line).map(|(_, of)| (number + 1, (*of).clone()))).collect()
}

fn files(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(directory) else { return Ok(files) };
    for entry in entries {
        let path = entry.map_err(Error::file("list", directory))?.path();
        if path.is_dir() {
            files.extend(self::files(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::pki::Pki;

    #[test]
    fn every_kind_of_credential_is_found_in_a_log_and_nothing_else() {
        let planes = tempfile::tempdir().unwrap();
        let layout = Layout::below(planes.path(), "x").unwrap();
        layout.create_root().unwrap();
        layout.create().unwrap();
        let pki = Pki::create(&layout.pki()).unwrap();
        let key = fs::read_to_string(layout.pki().join("sa.key")).unwrap();
        let token = format!("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4In0.{}", "aB3-".repeat(40));
        let user =
            serde_json::json!({"token": token, "client-key-data": ByteString(key.clone().into_bytes())});
        let kubeconfig = serde_json::json!({"users": [{"name": "u", "user": user}]});
        fs::write(layout.fedhub_kubeconfig("hub"), kubeconfig.to_string()).unwrap();
        let line_of_the_key = key.lines().nth(1).unwrap();
        let encoded = user["client-key-data"].as_str().unwrap();
        for (line, leaks) in [
            ("all is well with eyJhbGciOiJSUzI1NiJ9 at /x/fedhub/hub.yaml", false),
            (token.as_str(), true),
            (&token[20..120], true),
            (line_of_the_key, true),
            (encoded, true),
            (&pki.cell_token, true),
            ("proxy http://user:never-to-be-logged@proxy", true),
        ] {
            fs::write(layout.log("fedhub"), format!("first\nwarn \"{line}\" x\n")).unwrap();
            fs::write(layout.log("etcd"), line).unwrap();
            let found = search(&layout).unwrap();
            assert_eq!(found.len(), usize::from(leaks), "{line}: {found:?}");
            assert!(found.iter().all(|leak| leak.line == 2 && leak.log == layout.log("fedhub")));
        }
    }
}
