//! The queries that runbooks print for Prometheus.

use std::fs;

use crate::Error;

/// A query and the page that prints it.
pub struct Query {
    /// The name of the page's file.
    pub page: String,
    /// The query to Prometheus.
    pub expression: String,
}

/// Every query of every page.
pub fn all() -> Result<Vec<Query>, Error> {
    let directory = crate::repository().join("docs/runbooks");
    let mut queries = Vec::new();
    for entry in fs::read_dir(&directory).map_err(Error::file("list", &directory))?.flatten() {
        let text = fs::read_to_string(entry.path()).map_err(Error::file("read", entry.path()))?;
        let page = entry.file_name().to_string_lossy().into_owned();
        queries.extend(of(&text).map(|query| Query { page: page.clone(), expression: query.to_owned() }));
    }
    queries.sort_by(|one, other| one.page.cmp(&other.page));
    Ok(queries)
}

/// The lines of code that name a series. Commands name none.
fn of(page: &str) -> impl Iterator<Item = &str> {
    let code = page.lines().filter_map(|line| line.strip_prefix("    "));
    code.filter(|line| ["fedhub_", "fedhub:", "process_"].iter().any(|start| line.contains(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_told_from_commands() {
        let page = "text `fedhub_leader`\n\n    fedhub planes -o wide\n    kubectl get pods\n    max(fedhub_leader)\n";
        assert_eq!(of(page).collect::<Vec<_>>(), ["max(fedhub_leader)"]);
        assert!(all().unwrap().len() >= 10, "{}", all().unwrap().len());
    }
}
