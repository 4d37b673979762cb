//! From an HTTP request to what it asks for.

use std::collections::BTreeMap;

use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::request::Parts;

use crate::resource::Resource;

/// The part of a request that its path and headers say.
#[derive(Debug)]
pub(crate) struct Call {
    pub verb: &'static str,
    /// The index of the resource; nothing if the path is no resource's.
    pub resource: Option<usize>,
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub subresource: Option<String>,
    pub path: String,
    pub query: BTreeMap<String, String>,
    pub content_type: String,
    pub user_agent: Option<String>,
    /// Whether only `PartialObjectMetadata` is wanted.
    pub metadata_only: bool,
}

impl Call {
    /// Reads a request, given what is served.
    pub(crate) fn read<R: AsRef<Resource>>(parts: &Parts, resources: &[R]) -> Self {
        let header = |name| parts.headers.get(name).and_then(|v| v.to_str().ok()).map(ToOwned::to_owned);
        let query: BTreeMap<String, String> =
            form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
        let mut call = Self {
            verb: "get",
            resource: None,
            namespace: None,
            name: None,
            subresource: None,
            path: parts.uri.path().to_owned(),
            content_type: header(CONTENT_TYPE).unwrap_or_default(),
            user_agent: header(USER_AGENT),
            metadata_only: header(ACCEPT).unwrap_or_default().contains("as=PartialObjectMetadata"),
            query,
        };
        call.find(resources);
        call.verb = match (parts.method.as_str(), call.name.is_some()) {
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", true) => "delete",
            ("DELETE", false) => "deletecollection",
            ("GET", false) if call.resource.is_some() && call.flag("watch") => "watch",
            ("GET", false) if call.resource.is_some() => "list",
            _ if parts.method == Method::GET || parts.method == Method::HEAD => "get",
            _ => "unknown",
        };
        call
    }

    fn find<R: AsRef<Resource>>(&mut self, resources: &[R]) {
        let path = self.path.clone();
        let segments: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
        let (group, version, rest) = match segments.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return,
        };
        let namespaced = match rest {
            ["namespaces", _, "status" | "finalize"] if group.is_empty() => None,
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => Some((*namespace, rest)),
            _ => None,
        };
        let (namespace, rest) = namespaced.map_or((None, rest), |(namespace, rest)| (Some(namespace), rest));
        let (plural, name, subresource) = match rest {
            [plural] => (*plural, None, None),
            [plural, name] => (*plural, Some(*name), None),
            [plural, name, subresource] => (*plural, Some(*name), Some(*subresource)),
            _ => return,
        };
        self.resource = resources.iter().map(AsRef::as_ref).position(|resource| {
            let named = resource.group == group && resource.version == version && resource.plural == plural;
            let placed =
                if resource.namespaced { namespace.is_some() || name.is_none() } else { namespace.is_none() };
            named && placed && (subresource.is_none() || (resource.status && subresource == Some("status")))
        });
        if self.resource.is_some() {
            self.namespace = namespace.map(ToOwned::to_owned);
            self.name = name.map(ToOwned::to_owned);
            self.subresource = subresource.map(ToOwned::to_owned);
        }
    }

    pub(crate) fn param(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.param(name).is_some_and(|value| value == "true" || value == "1")
    }
}
