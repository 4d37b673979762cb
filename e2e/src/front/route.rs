//! Which project a path is about.

/// Before the project's name.
const PROJECTS: &str = "/apis/resourcemanager.miloapis.com/v1alpha1/projects/";
/// After it.
const CONTROL_PLANE: &str = "/control-plane/";

/// The project whose plane a path is of, and the path there.
pub fn project(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix(PROJECTS)?;
    let (name, _) = rest.split_once('/')?;
    let there = rest[name.len()..].strip_prefix(CONTROL_PLANE)?;
    // With the slash before it.
    Some((name, &rest[rest.len() - there.len() - 1..]))
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
}
