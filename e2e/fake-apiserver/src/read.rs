//! GET and LIST.

use std::ops::Bound;

use crate::answer::Refusal;
use crate::object::Stored;
use crate::selector::Filter;
use crate::store::Key;
use crate::world::World;

/// Which objects a list is of, and how much of them is wanted.
#[derive(Default)]
pub(crate) struct ListRequest {
    pub filter: Filter,
    pub limit: usize,
    pub token: Option<String>,
    pub resource_version: Option<String>,
    pub exact: bool,
}

/// A page of a list.
pub(crate) struct Page {
    pub items: Vec<Stored>,
    pub revision: u64,
    pub token: Option<String>,
    pub remaining: Option<usize>,
}

/// Reads a resourceVersion; nothing and `0` both mean "any".
pub(crate) fn parse_version(text: Option<&str>) -> Result<Option<u64>, Refusal> {
    match text {
        None | Some("" | "0") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            Refusal::bad_request(format!(
                "resourceVersion: Invalid value: \"{text}\": invalid resource version"
            ))
        }),
    }
}

impl World {
    /// GET of one object.
    pub(crate) fn read(&self, key: &Key, at_least: Option<&str>) -> Result<Stored, Refusal> {
        self.reached(at_least)?;
        let object = self.store.objects.get(key);
        object.cloned().ok_or_else(|| Refusal::not_found(&self.resources[key.resource], &key.name))
    }

    fn reached(&self, at_least: Option<&str>) -> Result<Option<u64>, Refusal> {
        let wanted = parse_version(at_least)?;
        match wanted {
            Some(version) if version > self.store.revision => {
                Err(Refusal::too_large(version, self.store.revision))
            }
            _ => Ok(wanted),
        }
    }

    /// LIST: the first page shows one revision, and the pages after it the same one.
    pub(crate) fn page(
        &self,
        resource: usize,
        namespace: Option<&str>,
        request: &ListRequest,
    ) -> Result<Page, Refusal> {
        let (revision, left, after) = if let Some(token) = &request.token {
            let (revision, left, key) = read_token(resource, token)?;
            (revision, left, Some(key))
        } else {
            let wanted = self.reached(request.resource_version.as_deref())?;
            (wanted.filter(|_| request.exact).unwrap_or(self.store.revision), None, None)
        };
        let paging = after.is_some();
        let first = after.map_or_else(
            || {
                let namespace = namespace.unwrap_or_default().to_owned();
                Bound::Included(Key { resource, namespace, name: String::new() })
            },
            Bound::Excluded,
        );
        let objects = self.store.at(revision, first).ok_or_else(|| too_old(paging, revision))?;
        let mut matching = objects
            .take_while(|(key, _)| key.resource == resource && namespace.is_none_or(|ns| ns == key.namespace))
            .filter(|(_, object)| request.filter.selects(object));
        let limit = if request.limit == 0 { usize::MAX } else { request.limit };
        let mut last = None;
        let mut items = Vec::new();
        for (key, object) in matching.by_ref().take(limit) {
            items.push(object);
            last = Some(key);
        }
        // Counted once, on the first page, and not at all where objects would have to be read for it.
        let left = match left {
            _ if !request.filter.is_empty() => usize::from(matching.next().is_some()),
            Some(left) => left.saturating_sub(items.len()),
            None => matching.count(),
        };
        let token =
            last.filter(|_| left > 0).map(|key| format!("{revision}:{left}:{}/{}", key.namespace, key.name));
        let remaining = token.as_ref().filter(|_| request.filter.is_empty()).map(|_| left);
        Ok(Page { items, revision, token, remaining })
    }
}

/// The revision that the list is of, how many objects were left, and the last one that was shown.
fn read_token(resource: usize, token: &str) -> Result<(u64, Option<usize>, Key), Refusal> {
    let parts = || {
        let (revision, rest) = token.split_once(':')?;
        let (left, key) = rest.split_once(':')?;
        let (namespace, name) = key.split_once('/')?;
        let key = Key { resource, namespace: namespace.into(), name: name.into() };
        Some((revision.parse().ok()?, Some(left.parse().ok()?), key))
    };
    parts().ok_or_else(|| Refusal::bad_request("continue key is not valid"))
}

fn too_old(paging: bool, revision: u64) -> Refusal {
    Refusal::expired(if paging {
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the \
         continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing \
         with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the \
         time the first chunk was returned and now may show up in the list."
            .to_owned()
    } else {
        format!("The resourceVersion for the provided list is too old: {revision}")
    })
}
