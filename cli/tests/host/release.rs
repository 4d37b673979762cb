//! What `make release` publishes, as the host installs it: an index that names archives and their hashes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::program;

const URL: &str = "https://downloads.example.com/fedhub/";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

fn release(arguments: &[&str]) -> Output {
    Command::new("sh").arg(repository().join("cli/release.sh")).args(arguments).output().unwrap()
}

fn succeeded(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names of the sections of a program.
fn sections(program: &Path) -> String {
    succeeded(Command::new("readelf").args(["--wide", "--sections"]).arg(program))
}

#[test]
fn the_host_installs_what_is_published() {
    let files = tempfile::tempdir().unwrap();
    let published = files.path().join("published").display().to_string();
    let manifest = succeeded(Command::new(program()).arg("--plugin-manifest"));
    let version = serde_json::from_str::<Value>(&manifest).unwrap()["version"].as_str().unwrap().to_owned();
    for arguments in [["pack", program(), &published].as_slice(), &["index", &published, &version, URL]] {
        let output = release(arguments);
        assert!(output.status.success(), "{arguments:?} {output:?}");
    }

    let index = fs::read_to_string(format!("{published}/index.yaml")).unwrap();
    let index: Value = serde_saphyr::from_str(&index).unwrap();
    let plugin = &index["items"][0];
    assert_eq!((&index["kind"], &plugin["metadata"]["name"]), (&"PluginList".into(), &"compute".into()));
    assert_eq!(plugin["spec"]["version"], *version);
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let platforms = plugin["spec"]["platforms"].as_array().unwrap();
    let own = platforms.iter().find(|it| {
        it["selector"]["matchLabels"]["os"] == "linux"
            && it["selector"]["matchLabels"]["arch"] == architecture
    });
    let uri = own.unwrap()["uri"].as_str().unwrap();
    let name = uri.strip_prefix(URL).unwrap();
    assert!(name.starts_with("datumctl-compute_Linux_") && name.ends_with(".tar.gz"), "{name}");

    // The hash is in the index, and in the file that an installation from a release reads.
    let archive = format!("{published}/{name}");
    let sum = succeeded(Command::new("sha256sum").arg(&archive));
    let sum = sum.split_whitespace().next().unwrap();
    assert_eq!(own.unwrap()["sha256"], sum);
    assert_eq!(fs::read_to_string(format!("{published}/checksums.txt")).unwrap(), format!("{sum}  {name}\n"));

    let listed = succeeded(Command::new("tar").args(["--list", "--file", &archive]));
    assert_eq!(listed, "datumctl-compute\n", "the file that the host looks for, and no other");
    succeeded(Command::new("tar").args(["--extract", "--file", &archive, "--directory"]).arg(files.path()));
    let installed = files.path().join("datumctl-compute");
    assert_eq!(succeeded(Command::new(&installed).arg("--plugin-manifest").env_clear()), manifest);
    assert!(sections(Path::new(program())).contains(".symtab"));
    assert!(!sections(&installed).contains(".symtab"), "it is stripped");
}

#[test]
fn what_the_host_would_refuse_is_not_published() {
    let files = tempfile::tempdir().unwrap();
    let directory = files.path().display().to_string();
    for (archive, url) in [
        ("datumctl-compute_Linux_x86_64.tar.gz", "http://downloads.example.com"),
        ("datumctl-compute_Linux_riscv64.tar.gz", URL),
    ] {
        fs::write(files.path().join(archive), "").unwrap();
        let output = release(&["index", &directory, "v1.0.0", url]);
        assert_eq!(output.status.code(), Some(2), "{archive} {url} {output:?}");
    }
}

/// By hand and by the workflow the same is made.
#[test]
fn releases_are_made_by_the_script() {
    let makefile = fs::read_to_string(repository().join("Makefile")).unwrap();
    let workflow = fs::read_to_string(repository().join(".github/workflows/release.yml")).unwrap();
    for (text, lines) in [
        (
            &makefile,
            [
                "sh cli/release.sh pack $(RELEASE)/datumctl-compute $(PLUGIN)",
                "sh cli/release.sh index $(PLUGIN) v$(VERSION) $(URL)",
            ],
        ),
        (
            &workflow,
            [
                "sh cli/release.sh pack target/release/datumctl-compute dist",
                "sh cli/release.sh index dist \"$GITHUB_REF_NAME\" \"$PAGE\"",
            ],
        ),
    ] {
        for line in lines {
            assert!(text.contains(line), "{line}");
        }
    }
}
