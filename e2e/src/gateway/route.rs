//! Which project a path is about, and where that is on the server behind.

/// Before the project's name.
const PROJECTS: &str = "/apis/resourcemanager.miloapis.com/v1alpha1/projects/";
/// After it.
const CONTROL_PLANE: &str = "/control-plane/";
/// Before the kinds that fedhub watches.
const COMPUTE: &str = "/apis/compute.datumapis.com/v1alpha/";
/// The path whose UID distinguishes one plane from another.
const IDENTITY: &str = "/api/v1/namespaces/kube-system";

/// The project whose plane a path is of, and the path there.
pub fn project(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix(PROJECTS)?;
    let (name, _) = rest.split_once('/')?;
    let there = rest[name.len()..].strip_prefix(CONTROL_PLANE)?;
    // With the slash before it.
    Some((name, &rest[rest.len() - there.len() - 1..]))
}

/// Whether a path is that of a page of a list, as clients ask for it who list before they watch.
pub fn is_list(path: &str) -> bool {
    let parts =
        path.split_once('?').map(|(_, query)| query.split('&').collect::<Vec<_>>()).unwrap_or_default();
    parts.iter().any(|part| part.starts_with("limit=")) && !parts.contains(&"watch=true")
}

/// The path on the server behind, for a plane that is one namespace of it: all objects of a kind are those of
/// that namespace, the plane's identity is that namespace's, and no other namespace is there. `None` for one
/// of those.
pub fn within(namespace: &str, path: &str) -> Option<String> {
    let (bare, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    if bare == IDENTITY {
        return Some(format!("/api/v1/namespaces/{namespace}{query}"));
    }
    if let Some(kind) = bare.strip_prefix(COMPUTE).filter(|kind| !kind.is_empty() && !kind.contains('/')) {
        return Some(format!("{COMPUTE}namespaces/{namespace}/{kind}{query}"));
    }
    match bare.split_once("/namespaces") {
        Some((_, rest))
            if rest.strip_prefix('/').and_then(|rest| rest.split('/').next()) != Some(namespace) =>
        {
            None
        }
        _ => Some(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_a_projects_control_plane_is_its_planes() {
        let below = |rest: &str| format!("{PROJECTS}{rest}");
        for (path, expected) in [
            (
                below("p/control-plane/api/v1/namespaces?watch=true"),
                Some(("p", "/api/v1/namespaces?watch=true")),
            ),
            (below("p/control-plane/"), Some(("p", "/"))),
            (below("p/control-plane"), None),
            (below("p"), None),
            (below("p/status"), None),
            (below("p/control-planes/api"), None),
            ("/api/v1/namespaces".to_owned(), None),
        ] {
            assert_eq!(project(&path), expected, "{path}");
        }
    }

    #[test]
    fn a_page_is_told_from_a_watch_and_from_an_object() {
        for (query, expected) in [
            ("?limit=500&continue=x", true),
            ("?watch=true&limit=500", false),
            ("?fieldManager=x", false),
            ("", false),
        ] {
            assert_eq!(is_list(&format!("{COMPUTE}instances{query}")), expected, "{query}");
        }
    }

    #[test]
    fn a_plane_that_is_one_namespace_shows_no_other() {
        let compute = |rest: &str| format!("{COMPUTE}{rest}");
        for (path, expected) in [
            (compute("instances"), Some(compute("namespaces/mine/instances"))),
            (compute("instances?watch=true"), Some(compute("namespaces/mine/instances?watch=true"))),
            (compute("namespaces/mine/instances/x"), Some(compute("namespaces/mine/instances/x"))),
            (compute("namespaces/other/instances/x"), None),
            (compute(""), Some(compute(""))),
            ("/api/v1/namespaces/kube-system".to_owned(), Some("/api/v1/namespaces/mine".to_owned())),
            ("/api/v1/namespaces/mine".to_owned(), Some("/api/v1/namespaces/mine".to_owned())),
            ("/api/v1/namespaces/mines".to_owned(), None),
            ("/api/v1/namespaces".to_owned(), None),
            ("/version".to_owned(), Some("/version".to_owned())),
        ] {
            assert_eq!(within("mine", &path), expected, "{path}");
        }
    }
}
