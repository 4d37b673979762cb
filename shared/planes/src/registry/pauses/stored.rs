//! The `ConfigMap` that says which planes are paused: what it says, and how operators change it.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use serde::{Deserialize, Serialize};

/// The name of the `ConfigMap`.
pub const NAME: &str = "fedhub-paused";
/// The key that stands for all planes: no plane's name has an underscore.
const ALL: &str = "_all";
/// The field manager of the commands.
const MANAGER: &str = "fedhub-pause";

/// Who paused something, when, and why. An entry that an operator wrote in another form pauses all the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When the pause began, as an RFC 3339 time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl Pause {
    fn read(entry: &str) -> Self {
        let plain =
            || Self { reason: Some(entry.trim().to_owned()).filter(|it| !it.is_empty()), ..Self::default() };
        serde_json::from_str(entry).unwrap_or_else(|_| plain())
    }

    /// When the pause began, if that can be read.
    pub fn since(&self) -> Option<Timestamp> {
        self.since.as_deref()?.parse().ok()
    }
}

/// Names who paused it, since when and why, as far as that is known.
impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |word: &str, value: &Option<String>| value.as_ref().map(|it| format!("{word}{it}"));
        let parts = [part("since ", &self.since), part("by ", &self.by), part("reason: ", &self.reason)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { f.write_str("without a reason") } else { f.write_str(&parts.join(", ")) }
    }
}

/// The planes that are paused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PausedPlanes {
    /// The pause of all planes.
    pub all: Option<Pause>,
    /// The pauses of single planes, by name.
    pub planes: BTreeMap<String, Pause>,
}

impl PausedPlanes {
    /// Reads the `ConfigMap`; without one, nothing is paused.
    pub fn read(map: Option<&ConfigMap>) -> Self {
        let entries = map.and_then(|map| map.data.as_ref()).into_iter().flatten();
        Self::from_entries(entries.map(|(name, entry)| (name.as_str(), entry.as_str())))
    }

    /// Reads the data of the `ConfigMap`.
    pub fn from_entries<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let entries = entries.into_iter();
        let mut planes: BTreeMap<_, _> =
            entries.map(|(name, entry)| (name.to_owned(), Pause::read(entry))).collect();
        Self { all: planes.remove(ALL), planes }
    }

    /// Returns the pauses as data of the `ConfigMap`.
    pub fn written(&self) -> serde_json::Result<BTreeMap<String, String>> {
        let all = self.all.iter().map(|pause| (ALL, pause));
        let planes = self.planes.iter().map(|(name, pause)| (name.as_str(), pause));
        all.chain(planes).map(|(key, pause)| Ok((key.to_owned(), serde_json::to_string(pause)?))).collect()
    }

    /// Why that plane is paused, if it is: its own pause first.
    pub fn pause(&self, plane: &str) -> Option<&Pause> {
        self.planes.get(plane).or(self.all.as_ref())
    }

    /// Whether nothing is paused.
    pub fn is_empty(&self) -> bool {
        self.all.is_none() && self.planes.is_empty()
    }
}

/// Reads which planes are paused from that namespace of the management plane.
pub async fn read(management: &Client, namespace: &str) -> kube::Result<PausedPlanes> {
    let api: Api<ConfigMap> = Api::namespaced(management.clone(), namespace);
    Ok(PausedPlanes::read(api.get_opt(NAME).await?.as_ref()))
}

/// Changes what is stored by `change`, which returns its result and whether there is anything to store.
pub async fn update<T>(
    management: &Client,
    namespace: &str,
    mut change: impl FnMut(&mut PausedPlanes) -> (T, bool),
) -> kube::Result<T> {
    let api: Api<ConfigMap> = Api::namespaced(management.clone(), namespace);
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    loop {
        let stored = api.get_opt(NAME).await?;
        let mut paused = PausedPlanes::read(stored.as_ref());
        let (result, changed) = change(&mut paused);
        if !changed {
            return Ok(result);
        }
        let data = Some(paused.written().map_err(kube::Error::SerdeError)?);
        let answer = if let Some(stored) = stored {
            api.replace(NAME, &params, &ConfigMap { data, ..stored }).await
        } else {
            let metadata = ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() };
            api.create(&params, &ConfigMap { metadata, data, ..ConfigMap::default() }).await
        };
        match answer {
            Ok(_) => return Ok(result),
            // Another operator was faster.
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, &str)]) -> ConfigMap {
        let data = entries.iter().map(|(key, entry)| ((*key).to_owned(), (*entry).to_owned())).collect();
        ConfigMap { data: Some(data), ..ConfigMap::default() }
    }

    #[test]
    fn i12_every_entry_pauses_whatever_its_form() {
        let stored = map(&[
            ("a", r#"{"reason":"disk","by":"eve","since":"2026-01-01T00:00:00Z"}"#),
            ("b", "disk "),
            ("c", ""),
            ("d", "{"),
        ]);
        let paused = PausedPlanes::read(Some(&stored));
        let a = paused.pause("a").unwrap();
        assert_eq!((a.reason.as_deref(), a.by.as_deref()), (Some("disk"), Some("eve")));
        assert!(a.since().is_some());
        assert_eq!(paused.pause("b").unwrap().reason.as_deref(), Some("disk"));
        assert!(paused.pause("c").is_some() && paused.pause("d").is_some() && paused.pause("e").is_none());
        let all = PausedPlanes::read(Some(&map(&[("_all", "x")])));
        assert!(all.pause("e").is_some() && all.planes.is_empty());
        for paused in [paused, all] {
            let mut written = map(&[]);
            written.data = Some(paused.written().unwrap());
            assert_eq!(PausedPlanes::read(Some(&written)), paused);
        }
    }
}
