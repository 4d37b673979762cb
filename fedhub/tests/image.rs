//! The Dockerfile's final stage, without a container engine: its files in an empty root, with its user and
//! its entry point.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a stage of a Dockerfile says, instruction by instruction.
type Stage = Vec<(String, String)>;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn stages() -> Vec<Stage> {
    let text = fs::read_to_string(repository().join("Dockerfile")).unwrap().replace("\\\n", " ");
    let mut stages: Vec<Stage> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (instruction, rest) = line.split_once(' ').unwrap();
        if instruction == "FROM" {
            stages.push(Vec::new());
        }
        stages.last_mut().unwrap().push((instruction.to_owned(), rest.trim().to_owned()));
    }
    stages
}

fn of<'a>(stage: &'a Stage, instruction: &'a str) -> impl Iterator<Item = &'a str> {
    stage.iter().filter(move |(it, _)| it == instruction).map(|(_, rest)| rest.as_str())
}

/// A directory that goes with the test.
struct Root(PathBuf);

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes what the build stage makes at that path, with the program of this build; a file of the build stage's
/// own image is this machine's.
fn make(build: &Stage, source: &str, to: &Path) {
    let script = of(build, "RUN").find_map(|run| run.strip_suffix(source)?.trim().strip_prefix("sh deploy/"));
    let Some(script) = script else {
        let target = to.join(Path::new(source).file_name().unwrap());
        fs::create_dir_all(to).unwrap();
        // Certificates are no part of what a machine needs to run this test.
        fs::write(target, fs::read(source).unwrap_or_default()).unwrap();
        return;
    };
    let (script, program) = script.split_once(' ').unwrap();
    assert_eq!(program, "target/release/fedhub");
    let fedhub = env!("CARGO_BIN_EXE_fedhub");
    let made = Command::new("sh")
        .arg(repository().join("deploy").join(script))
        .arg(fedhub)
        .arg(to)
        .status()
        .unwrap();
    assert!(made.success(), "{script} failed");
}

/// The final stage's root file system.
fn root(test: &str) -> Root {
    let root =
        Root(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("image-{test}-{}", std::process::id())));
    fs::create_dir_all(&root.0).unwrap();
    fs::set_permissions(&root.0, fs::Permissions::from_mode(0o755)).unwrap();
    let stages = stages();
    let [build, last] = &stages[..] else { panic!("a stage to build in, and the image") };
    for copy in of(last, "COPY") {
        let words: Vec<_> = copy.split_whitespace().collect();
        let ["--from=build", source, target] = words[..] else {
            panic!("COPY {copy}: not of the stage `build`")
        };
        make(build, source, &root.0.join(target.trim_start_matches('/')));
    }
    root
}

/// Runs the entry point in that root, as the image's user where this process may choose it, else as its own
/// in a user namespace; `None` where neither is permitted.
fn run(root: &Root, arguments: &[&str]) -> Option<Output> {
    let stages = stages();
    let last = stages.last().unwrap();
    let user = of(last, "USER").next().unwrap();
    let entry = of(last, "ENTRYPOINT").next().unwrap();
    let entry = entry.trim_matches(['[', ']', '"']);
    let as_user = format!("--userspec={user}");
    let ways: [&[&str]; 2] = [&["chroot", &as_user], &["unshare", "--map-root-user", "chroot"]];
    ways.into_iter().find_map(|way| {
        let enter = |arguments: &[&str]| {
            let mut command = Command::new(way[0]);
            command.args(&way[1..]).arg(&root.0).arg(entry).args(arguments).env_clear();
            command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").output().ok()
        };
        // chroot and unshare end with 125 to 127, or 1, where they may not or cannot.
        enter(&["--version"]).filter(|output| output.status.success())?;
        enter(arguments)
    })
}

/// Whether this machine permits a chroot at all, with a root that certainly works: its own.
fn permitted() -> bool {
    let ways: [&[&str]; 2] =
        [&["chroot", "/", "true"], &["unshare", "--map-root-user", "chroot", "/", "true"]];
    ways.into_iter()
        .any(|way| Command::new(way[0]).args(&way[1..]).output().is_ok_and(|output| output.status.success()))
}

#[test]
fn the_final_stage_runs_in_an_empty_root() {
    if !permitted() {
        eprintln!("SKIPPED: neither chroot nor unshare is permitted here, so the image's files were not run");
        return;
    }
    let root = root("run");
    let version = run(&root, &["--version"]).expect("the program does not start in the image's root");
    let text = String::from_utf8(version.stdout).unwrap();
    assert_eq!(text.trim(), concat!("fedhub ", env!("CARGO_PKG_VERSION")));

    let crds = run(&root, &["crds"]).unwrap();
    assert!(crds.status.success() && crds.stdout.len() > 1000);

    let misuse = run(&root, &["run"]).unwrap();
    assert_eq!(misuse.status.code(), Some(2), "{misuse:?}");
}

#[test]
fn the_image_is_empty_but_for_the_program_and_not_root() {
    let stages = stages();
    let last = stages.last().unwrap();
    assert_eq!(of(last, "FROM").collect::<Vec<_>>(), ["scratch"]);
    assert_eq!(of(last, "ENTRYPOINT").collect::<Vec<_>>(), ["[\"/fedhub\"]"]);
    let user = of(last, "USER").next().unwrap();
    for deployment in ["deploy/base/deployment.yaml", "deploy/cell/deployment.yaml"] {
        let text = fs::read_to_string(repository().join(deployment)).unwrap();
        let of = |key: &str| {
            text.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap().trim().to_owned()
        };
        assert_eq!(user, format!("{}:{}", of("runAsUser:"), of("runAsGroup:")), "{deployment}");
    }

    let root = root("files");
    let mut directories = vec![root.0.clone()];
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                directories.push(entry.path());
            } else {
                files.push(entry.path().strip_prefix(&root.0).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let is_library = |file: &&String| file.starts_with("lib") && file.contains(".so.");
    let mut others: Vec<_> = files.iter().filter(|file| !is_library(file)).collect();
    others.sort();
    assert_eq!(others, ["etc/ssl/certs/ca-certificates.crt", "fedhub"], "{files:?}");
}
