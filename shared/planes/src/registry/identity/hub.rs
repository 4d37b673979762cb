//! What is remembered of the hub, beside the identities of planes: the highest resourceVersion ever seen
//! there, and whether it was restored from a backup (I4).

use std::collections::BTreeMap;

use fedhub_core::names::IDENTITIES;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::core::ObjectMeta;
use kube::{Api, Client};

use crate::registry::restores::history::Remembered;

/// The `ConfigMap` with it.
pub const NAME: &str = "fedhub-hub-history";
const HIGHEST: &str = "highestResourceVersion";
const RESTORED_AT: &str = "restoredAtResourceVersion";
const LAST_RESTORE: &str = "lastRestore";
const ACCEPTED: &str = "acceptedRestore";

/// Reads a `ConfigMap`. An entry that cannot be parsed is ignored.
pub(super) fn read(map: &ConfigMap) -> Remembered {
    let text = |key| map.data.as_ref()?.get(key);
    let number = |key| text(key)?.parse().ok();
    Remembered {
        highest: number(HIGHEST).unwrap_or_default(),
        restored_at: number(RESTORED_AT),
        last_restore: text(LAST_RESTORE).and_then(|at| at.parse().ok()),
        accepted: text(ACCEPTED).and_then(|at| at.parse().ok()),
    }
}

/// The `ConfigMap` that says so, made of the one that is stored.
pub(super) fn written(stored: Option<&ConfigMap>, remembered: Remembered) -> ConfigMap {
    let mut map = stored.cloned().unwrap_or_else(|| empty(NAME));
    let data = map.data.get_or_insert_default();
    data.insert(HIGHEST.to_owned(), remembered.highest.to_string());
    match remembered.restored_at {
        Some(at) => data.insert(RESTORED_AT.to_owned(), at.to_string()),
        None => data.remove(RESTORED_AT),
    };
    if let Some(at) = remembered.last_restore {
        data.insert(LAST_RESTORE.to_owned(), at.to_string());
    }
    match remembered.accepted {
        Some(at) => data.insert(ACCEPTED.to_owned(), at.to_string()),
        None => data.remove(ACCEPTED),
    };
    map
}

/// A `ConfigMap` of the memory with nothing in it.
pub(super) fn empty(name: &str) -> ConfigMap {
    let labels = BTreeMap::from([(IDENTITIES.0.to_owned(), IDENTITIES.1.to_owned())]);
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() },
        ..ConfigMap::default()
    }
}

/// Reads what is remembered of the hub in that namespace of the management plane, if anything.
pub async fn remembered(management: &Client, namespace: &str) -> kube::Result<Option<Remembered>> {
    let api: Api<ConfigMap> = Api::namespaced(management.clone(), namespace);
    Ok(api.get_opt(NAME).await?.as_ref().map(read))
}

/// Accepts that the hub was restored from a backup: deletions are inferred on it again, and what was declared
/// there before the restore counts again (C11). Returns whether a restore was remembered that had not been
/// accepted.
pub async fn accept_restore(management: &Client, namespace: &str) -> kube::Result<bool> {
    let api: Api<ConfigMap> = Api::namespaced(management.clone(), namespace);
    loop {
        let Some(stored) = api.get_opt(NAME).await? else { return Ok(false) };
        let remembered = read(&stored);
        if remembered.restored_at.is_none() && remembered.is_accepted() {
            return Ok(false);
        }
        let accepted = Remembered { restored_at: None, accepted: remembered.last_restore, ..remembered };
        let accepted = written(Some(&stored), accepted);
        match api.replace(NAME, &PostParams::default(), &accepted).await {
            Ok(_) => return Ok(true),
            // The leader wrote meanwhile.
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(error),
        }
    }
}
