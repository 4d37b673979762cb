//! Circles of a graph of files.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Graph;

/// The largest sets of files of which each knows each other, directly or by others; those of one file are
/// left out.
pub fn circles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reachable: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|file| (file, reach(graph, file))).collect();
    let mut circles: Vec<BTreeSet<String>> = Vec::new();
    for (file, to) in &reachable {
        if to.contains(file) && !circles.iter().any(|circle| circle.contains(*file)) {
            let back = to.iter().filter(|other| reachable.get(*other).is_some_and(|to| to.contains(file)));
            circles.push(back.map(|other| (*other).clone()).collect());
        }
    }
    circles
}

/// What `file` knows, directly or by others.
fn reach<'a>(graph: &'a Graph, file: &String) -> BTreeSet<&'a String> {
    let (mut seen, mut next): (BTreeSet<_>, Vec<_>) = (BTreeSet::new(), graph[file].iter().collect());
    while let Some(file) = next.pop() {
        if seen.insert(file) {
            next.extend(graph.get(file).into_iter().flatten());
        }
    }
    seen
}

/// Who knows whom within a circle, a line for each file.
pub fn describe(graph: &Graph, circle: &BTreeSet<String>) -> String {
    let mut lines = String::new();
    for file in circle {
        let known: Vec<&str> = graph[file].intersection(circle).map(String::as_str).collect();
        lines.push_str("    ");
        lines.push_str(file);
        lines.push_str(" knows ");
        lines.push_str(&known.join(", "));
        lines.push('\n');
    }
    lines
}
