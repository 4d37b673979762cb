//! The queries of the dashboards in `deploy/components/dashboards`.

use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::Error;

/// The values of Grafana's variables: everything, within a minute.
const VARIABLES: [(&str, &str); 4] =
    [("$__rate_interval", "1m"), ("$plane_kind", ".*"), ("$plane", ".*"), ("$city", ".*")];

/// A query of a panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The dashboard, by the name of its file.
    pub dashboard: String,
    /// The panel's title.
    pub panel: String,
    /// Which of the panel's queries: `A` is the first.
    pub id: String,
    /// The query to Prometheus.
    pub expression: String,
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of panel `{}` of dashboard {}", self.id, self.panel, self.dashboard)
    }
}

/// Every query of every dashboard.
pub fn all() -> Result<Vec<Query>, Error> {
    let directory = crate::repository().join("deploy/components/dashboards");
    let mut files: Vec<_> =
        fs::read_dir(&directory).map_err(Error::file("list", &directory))?.flatten().collect();
    files.sort_by_key(std::fs::DirEntry::file_name);
    let mut queries = Vec::new();
    for path in files.iter().map(std::fs::DirEntry::path) {
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = fs::read(&path).map_err(Error::file("read", &path))?;
            let dashboard: Value = serde_json::from_slice(&text)
                .map_err(|error| Error::Manifest { path: path.clone(), problem: error.to_string() })?;
            queries.extend(of(&path, &dashboard));
        }
    }
    Ok(queries)
}

fn of(path: &Path, dashboard: &Value) -> Vec<Query> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut queries = Vec::new();
    for panel in list(&dashboard["panels"]) {
        for target in list(&panel["targets"]) {
            let expression =
                VARIABLES.iter().fold(text(&target["expr"]), |all, (from, to)| all.replace(from, to));
            let panel = text(&panel["title"]);
            let id = text(&target["refId"]);
            queries.push(Query { dashboard: name.clone().into_owned(), panel, id, expression });
        }
    }
    queries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_variable_is_left_in_a_query() {
        let queries = all().unwrap();
        assert!(queries.len() >= 30, "{}", queries.len());
        for query in queries {
            assert!(!query.expression.contains('$'), "{query}: {}", query.expression);
        }
    }
}
