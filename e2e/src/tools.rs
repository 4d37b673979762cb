//! The programs that the planes are made of, built from pinned Go modules, those that watch them, from Debian
//! packages, and fedhub as it was released before, from this repository's history.
//!
//! `e2e/tools/<tool>/go.mod` pins each module; the checksum database and `go.sum` vouch for what is
//! downloaded. Where a program is put together of several modules, `main.go` is beside it. A Debian package
//! is pinned by its name; the signed Release files of the machine's own package sources vouch for it. What is
//! built or unpacked lands in a cache outside the checkout, under a name that changes with everything that
//! goes into it, and appears there by a rename: a directory of that name is complete.

mod build;
mod cache;
mod debian;
mod go;
mod history;
mod run;

use std::path::{Path, PathBuf};

pub use build::ensure;
pub use cache::cache_root;
pub(crate) use go::copy;
use tokio::process::Command;

use crate::Error;

/// Runs a program of a tool and returns its standard output.
pub(crate) async fn output(command: Command) -> Result<String, Error> {
    let program = PathBuf::from(command.as_std().get_program());
    run::output(command, || {
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        Error::File { action: "run", path: program, cause: missing }
    })
    .await
}

/// One pinned Go module, Debian package or commit, and the programs that come from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// etcd.
    Etcd,
    /// kube-apiserver, kube-controller-manager, kubectl.
    Kubernetes,
    /// Karmada's servers and controllers, and the manifests they are installed with.
    Karmada,
    /// The test runner.
    Chainsaw,
    /// What renders the chart.
    Helm,
    /// The OpenTelemetry Collector, with the parts that the suites use.
    Collector,
    /// prometheus and promtool.
    Prometheus,
    /// prometheus-alertmanager and amtool.
    Alertmanager,
    /// Chromium, with the libraries that the machine lacks.
    Chromium,
    /// tmux, likewise: terminals for what draws on one.
    Tmux,
    /// What the completions of other programs in bash are made with, likewise.
    BashCompletion,
    /// fish, likewise.
    Fish,
    /// zsh, likewise.
    Zsh,
    /// fedhub of the release before this one.
    PreviousRelease,
}

impl Tool {
    /// Every tool, in the order in which they are made: those of the planes first, of these the quickest
    /// first.
    pub const ALL: [Self; 14] = [
        Self::Etcd,
        Self::Kubernetes,
        Self::Karmada,
        Self::Chainsaw,
        Self::Helm,
        Self::Collector,
        Self::Prometheus,
        Self::Alertmanager,
        Self::Chromium,
        Self::Tmux,
        Self::BashCompletion,
        Self::Fish,
        Self::Zsh,
        Self::PreviousRelease,
    ];

    /// Its name: of a Debian package that of the package, of others that of its directory under `e2e/tools`.
    pub fn name(self) -> &'static str {
        self.recipe().name
    }

    fn recipe(self) -> Recipe {
        let (name, source) = match self {
            Self::Etcd => ("etcd", Source::Go(&ETCD)),
            Self::Kubernetes => ("kubernetes", Source::Go(&KUBERNETES)),
            Self::Karmada => ("karmada", Source::Go(&KARMADA)),
            Self::Chainsaw => ("chainsaw", Source::Go(&CHAINSAW)),
            Self::Helm => ("helm", Source::Go(&HELM)),
            Self::Collector => ("opentelemetry-collector", Source::Go(&COLLECTOR)),
            Self::Prometheus => ("prometheus", Source::Debian(&PROMETHEUS)),
            Self::Alertmanager => ("prometheus-alertmanager", Source::Debian(&ALERTMANAGER)),
            Self::Chromium => ("chromium", Source::Debian(&CHROMIUM)),
            Self::Tmux => ("tmux", Source::Debian(&TMUX)),
            Self::BashCompletion => ("bash-completion", Source::Debian(&BASH_COMPLETION)),
            Self::Fish => ("fish", Source::Debian(&FISH)),
            Self::Zsh => ("zsh", Source::Debian(&ZSH)),
            Self::PreviousRelease => ("previous-release", Source::History),
        };
        Recipe { name, source }
    }
}

/// How a tool is made.
#[derive(Clone, Copy)]
struct Recipe {
    name: &'static str,
    source: Source,
}

/// Where a tool comes from.
#[derive(Clone, Copy)]
enum Source {
    /// Programs built from a Go module.
    Go(&'static GoModule),
    /// The Debian package of the tool's name.
    Debian(&'static DebianPackage),
    /// fedhub at the commit that `e2e/tools/<tool>/commit` names.
    History,
}

/// How programs are built from a Go module.
struct GoModule {
    /// The module whose version in go.mod is the tool's version.
    module: &'static str,
    /// File name of each program and the package it is built from.
    programs: &'static [(&'static str, &'static str)],
    /// The package with `gitVersion` and its siblings: a program built from a module does not know its
    /// version otherwise, and Karmada copies the API server's into `Cluster.status.kubernetesVersion`.
    version_package: Option<&'static str>,
    /// Set where the newest Go does not compile it.
    toolchain: Option<&'static str>,
    /// Directories and files of the module that are kept beside the programs, below `manifests/`.
    manifests: &'static [&'static str],
    /// For the progress line: what a first build takes on two cores.
    usual_time: &'static str,
}

static ETCD: GoModule = GoModule {
    module: "go.etcd.io/etcd/server/v3",
    programs: &[("etcd", "go.etcd.io/etcd/server/v3")],
    version_package: None,
    toolchain: None,
    manifests: &[],
    usual_time: "about half a minute",
};

static KUBERNETES: GoModule = GoModule {
    module: "k8s.io/kubernetes",
    programs: &[
        ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
        ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
        ("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
    ],
    version_package: Some("k8s.io/component-base/version"),
    toolchain: None,
    manifests: &[],
    usual_time: "about four minutes",
};

static KARMADA: GoModule = GoModule {
    module: "github.com/karmada-io/karmada",
    programs: &[
        ("karmada-aggregated-apiserver", "github.com/karmada-io/karmada/cmd/aggregated-apiserver"),
        ("karmada-controller-manager", "github.com/karmada-io/karmada/cmd/controller-manager"),
        ("karmada-scheduler", "github.com/karmada-io/karmada/cmd/scheduler"),
        ("karmada-webhook", "github.com/karmada-io/karmada/cmd/webhook"),
    ],
    version_package: Some("github.com/karmada-io/karmada/pkg/version"),
    toolchain: None,
    manifests: &[
        "charts/karmada/_crds",
        "artifacts/deploy/karmada-aggregated-apiserver-apiservice.yaml",
        "artifacts/deploy/webhook-configuration.yaml",
    ],
    usual_time: "about three minutes",
};

static CHAINSAW: GoModule = GoModule {
    module: "github.com/kyverno/chainsaw",
    programs: &[("chainsaw", "github.com/kyverno/chainsaw")],
    version_package: None,
    // v0.2.14 implements an interface of package testing that grew in Go 1.26.
    toolchain: Some("go1.25.5"),
    manifests: &[],
    usual_time: "about three minutes",
};

static HELM: GoModule = GoModule {
    module: "helm.sh/helm/v4",
    programs: &[("helm", "helm.sh/helm/v4/cmd/helm")],
    version_package: None,
    toolchain: None,
    manifests: &[],
    usual_time: "about three minutes",
};

static COLLECTOR: GoModule = GoModule {
    module: "go.opentelemetry.io/collector/otelcol",
    // Its own command is published without a version: `main.go` beside the pin puts the modules together.
    programs: &[("otelcol", ".")],
    version_package: None,
    toolchain: None,
    manifests: &[],
    usual_time: "about two minutes",
};

/// What is kept of a Debian package.
#[derive(Debug)]
struct DebianPackage {
    /// Programs in `usr/bin`.
    programs: &'static [&'static str],
    /// Whether all of it is kept, as it would be installed, with the packages that it depends on and the
    /// machine has not.
    whole: bool,
    /// Files that a program reads at an absolute path, where nothing can be put without root.
    moved: Option<Moved>,
}

/// Files that a program reads elsewhere than where its package has them: the path is replaced in the program.
#[derive(Debug)]
struct Moved {
    /// The directory in the package, as the program names it.
    from: &'static str,
    /// Where the program looks instead: as long, and so relative to the directory that it runs in.
    to: &'static str,
    /// The files, which are kept beside the programs.
    files: &'static [&'static str],
}

static PROMETHEUS: DebianPackage =
    DebianPackage { programs: &["prometheus", "promtool"], whole: false, moved: None };

/// Debian's Alertmanager has its templates beside it, and does not start without them.
static ALERTMANAGER: DebianPackage = DebianPackage {
    programs: &["prometheus-alertmanager", "amtool"],
    whole: false,
    moved: Some(Moved {
        from: "/usr/share/prometheus/alertmanager",
        to: "scratch/alertmanager/././././././.",
        files: &["default.tmpl", "email.tmpl"],
    }),
};

static CHROMIUM: DebianPackage = DebianPackage { programs: &["chromium"], whole: true, moved: None };

static TMUX: DebianPackage = DebianPackage { programs: &["tmux"], whole: true, moved: None };

static BASH_COMPLETION: DebianPackage = DebianPackage { programs: &[], whole: true, moved: None };

static FISH: DebianPackage = DebianPackage { programs: &["fish"], whole: true, moved: None };

static ZSH: DebianPackage = DebianPackage { programs: &["zsh"], whole: true, moved: None };

/// A built tool.
#[derive(Debug, Clone)]
pub struct Built {
    dir: PathBuf,
}

impl Built {
    /// The directory with its programs.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// One of its programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The directories with its libraries, where all of a package and of what it depends on is kept.
    pub fn libraries(&self) -> Vec<PathBuf> {
        let below =
            |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_architecture =
            |path: &PathBuf| path.file_name().is_some_and(|it| it.to_string_lossy().contains("-linux-"));
        let own = ["usr/lib", "lib"].map(|path| self.dir.join(path)).into_iter().flat_map(below);
        let mut found = Vec::new();
        for directory in own.filter(is_architecture) {
            // Some packages have those for their own use in a directory below.
            found.extend(below(directory.clone()).filter(|path| path.is_dir()));
            found.insert(0, directory);
        }
        found
    }

    /// Copies the files that its programs read where they run into the directory where they look for them.
    pub fn move_files(&self, tool: Tool, into: &Path) -> Result<(), Error> {
        let Source::Debian(DebianPackage { moved: Some(moved), .. }) = tool.recipe().source else {
            return Ok(());
        };
        std::fs::create_dir_all(into).map_err(Error::file("create", into))?;
        for (file, from) in moved.files.iter().map(|file| (file, self.dir.join(file))) {
            if !from.is_file() {
                continue;
            }
            std::fs::copy(&from, into.join(file)).map_err(Error::file("copy", &from))?;
        }
        Ok(())
    }

    /// A file or directory of its module that was kept, by its path in the module.
    pub fn manifest(&self, path: &str) -> PathBuf {
        self.dir.join("manifests").join(path)
    }
}
