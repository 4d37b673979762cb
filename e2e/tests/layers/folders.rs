//! Layers within a crate: folders of which each knows those below it alone.

use super::repository;
use super::source::{self, Graph};

/// Where the layers are, the lowest first.
const CRATE: &str = "shared/planes/src";
const LAYERS: [&str; 4] = ["transport", "listwatch", "registry", "discovery"];

/// The layer of a file; none of one beside the folders.
fn layer(file: &str) -> Option<usize> {
    let (folder, _) = file.split_once('/')?;
    LAYERS.iter().position(|layer| *layer == folder)
}

/// Who knows a file of a higher layer, or one that is in no layer.
fn out_of_order(graph: &Graph) -> Vec<String> {
    let mut faults = Vec::new();
    for (file, known) in graph {
        let Some(own) = layer(file) else { continue };
        let wrong = known.iter().filter(|other| layer(other).is_none_or(|of_other| of_other > own));
        faults.extend(wrong.map(|other| format!("{file} knows {other}")));
    }
    faults
}

#[test]
fn a_folder_knows_lower_folders_alone() {
    let graph = source::of_crate(&repository().join(CRATE), "lib.rs");
    let beside: Vec<_> = graph.keys().filter(|file| layer(file).is_none()).collect();
    assert_eq!(beside, ["lib.rs"], "these files of {CRATE} are in none of {LAYERS:?}");
    for (at, folder) in LAYERS.iter().enumerate() {
        assert!(graph.keys().any(|file| layer(file) == Some(at)), "{CRATE} has no folder {folder}");
    }
    assert_eq!(out_of_order(&graph), Vec::<String>::new());
}

#[test]
fn a_folder_that_knows_a_higher_one_is_found() {
    let graph = source::graph([
        (
            "lib.rs",
            "mod discovery;\nmod registry;\nmod transport;\nmod shared;\npub use registry::planes::Planes;",
        ),
        ("shared.rs", "pub struct Shared;"),
        ("transport/mod.rs", "use crate::Planes;\npub struct Pool(Planes);"),
        ("registry/mod.rs", "pub mod planes;"),
        (
            "registry/planes.rs",
            "use crate::shared::Shared;\nuse crate::transport::Pool;\npub struct Planes(Pool, Shared);",
        ),
        ("discovery/mod.rs", "use crate::Planes;\nfn find(_: Planes) {}"),
    ]);
    let expected = ["registry/planes.rs knows shared.rs", "transport/mod.rs knows registry/planes.rs"];
    assert_eq!(out_of_order(&graph), expected);
}
