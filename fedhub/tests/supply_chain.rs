//! What is built is built from what is pinned: actions by commit, images by digest; and the image's files are
//! the same with and without a container engine.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap()
}

/// Each workflow's name and text.
fn workflows() -> Vec<(String, String)> {
    let directory = repository().join(".github/workflows");
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap())).collect()
}

/// The values of a key, wherever it stands.
fn values<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| line.trim().trim_start_matches("- ").strip_prefix(key)).map(str::trim)
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether an image is named by its digest.
fn is_pinned(image: &str) -> bool {
    image.split_once("@sha256:").is_some_and(|(_, digest)| is_hex(digest, 64))
}

#[test]
fn actions_are_pinned_by_commit_and_say_which_version_that_is() {
    let workflows = workflows();
    let uses = workflows.iter().flat_map(|(file, text)| values(text, "uses:").map(move |it| (file, it)));
    let uses: Vec<_> = uses.collect();
    assert!(uses.len() > 10, "{uses:?}");
    for (file, action) in uses {
        let (action, version) =
            action.split_once(" # v").unwrap_or_else(|| panic!("{file}: {action} has no version"));
        let commit = action.split_once('@').map_or("", |(_, commit)| commit);
        assert!(is_hex(commit, 40) && !version.is_empty(), "{file}: {action}");
    }
}

#[test]
fn images_are_pinned_by_digest_and_programs_are_built_in_the_one_of_the_image() {
    let dockerfile = read("Dockerfile");
    let bases = dockerfile.lines().filter_map(|line| line.strip_prefix("FROM ")?.split(' ').next());
    let mut bases: Vec<_> = bases.filter(|image| *image != "scratch").collect();
    assert_eq!(bases.len(), 1);
    let release = read(".github/workflows/release.yml");
    bases.extend(values(&release, "container:"));
    assert!(bases.len() > 1 && bases.iter().all(|image| is_pinned(image)), "{bases:?}");
    assert_eq!(bases.iter().collect::<BTreeSet<_>>().len(), 1, "{bases:?}");
}

#[test]
fn a_workflow_may_read_and_each_job_of_a_release_has_rights_of_its_own() {
    for (file, text) in workflows() {
        let (_, after) =
            text.split_once("\npermissions:\n").unwrap_or_else(|| panic!("{file}: no permissions"));
        let own: Vec<_> = after.lines().take_while(|line| line.starts_with("  ")).map(str::trim).collect();
        assert_eq!(own, ["contents: read"], "{file}");
        let checkouts = text.matches("uses: actions/checkout@").count();
        assert_eq!(text.matches("persist-credentials: false").count(), checkouts, "{file}");
    }
}

#[test]
fn make_image_makes_what_the_dockerfile_copies() {
    let dockerfile = read("Dockerfile");
    let makefile = read("Makefile");
    let (_, recipe) = makefile.split_once("\nimage: ").unwrap();
    let recipe: Vec<_> = recipe.lines().skip(1).take_while(|line| line.starts_with('\t')).collect();
    let copies: Vec<_> =
        dockerfile.lines().filter_map(|line| line.strip_prefix("COPY --from=build ")).collect();
    assert_eq!(copies.len(), 2, "{copies:?}");
    for copy in copies {
        let (source, target) = copy.split_once(' ').unwrap();
        let made = match source {
            "/image" => dockerfile.lines().find_map(|line| {
                let rest = line.strip_prefix("RUN sh ")?.strip_suffix(" /image")?;
                Some(format!("sh {} $(IMAGE)", rest.replace("target/release", "$(RELEASE)")))
            }),
            file => Some(format!("{file} $(IMAGE){target}{}", file.rsplit_once('/').unwrap().1)),
        };
        let made = made.unwrap_or_else(|| panic!("nothing makes {source}"));
        assert!(
            recipe.iter().any(|line| line.ends_with(&made)),
            "no line of `make image` ends in `{made}`: {recipe:?}"
        );
    }
}
