//! The programs that the planes are made of, built from pinned Go modules.
//!
//! `e2e/tools/<tool>/go.mod` pins each; the checksum database and `go.sum` vouch for what is downloaded. What is
//! built lands in a cache outside the checkout, under a name that changes with everything that goes into it, and
//! appears there by a rename: a directory of that name is complete.

mod build;
mod cache;

use std::path::{Path, PathBuf};

pub use build::ensure;
pub use cache::cache_root;

/// One pinned Go module and the programs built from it.
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
}

impl Tool {
    /// Every tool, in the order in which they are built: quickest first.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::Kubernetes, Self::Karmada, Self::Chainsaw];

    /// The name of its directory under `e2e/tools`.
    pub fn name(self) -> &'static str {
        self.recipe().name
    }

    fn recipe(self) -> &'static Recipe {
        match self {
            Self::Etcd => &ETCD,
            Self::Kubernetes => &KUBERNETES,
            Self::Karmada => &KARMADA,
            Self::Chainsaw => &CHAINSAW,
        }
    }
}

/// How a tool is built.
struct Recipe {
    name: &'static str,
    /// The module whose version in go.mod is the tool's version.
    module: &'static str,
    /// File name of each program and the package it is built from.
    programs: &'static [(&'static str, &'static str)],
    /// The package with `gitVersion` and its siblings: a program built from a module does not know its version
    /// otherwise, and Karmada copies the API server's into `Cluster.status.kubernetesVersion`.
    version_package: Option<&'static str>,
    /// Set where the newest Go does not compile it.
    toolchain: Option<&'static str>,
    /// Directories and files of the module that are kept beside the programs, below `manifests/`.
    manifests: &'static [&'static str],
    /// For the progress line: what a first build takes on two cores.
    usual_time: &'static str,
}

static ETCD: Recipe = Recipe {
    name: "etcd",
    module: "go.etcd.io/etcd/server/v3",
    programs: &[("etcd", "go.etcd.io/etcd/server/v3")],
    version_package: None,
    toolchain: None,
    manifests: &[],
    usual_time: "about half a minute",
};

static KUBERNETES: Recipe = Recipe {
    name: "kubernetes",
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

static KARMADA: Recipe = Recipe {
    name: "karmada",
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

static CHAINSAW: Recipe = Recipe {
    name: "chainsaw",
    module: "github.com/kyverno/chainsaw",
    programs: &[("chainsaw", "github.com/kyverno/chainsaw")],
    version_package: None,
    // v0.2.14 implements an interface of package testing that grew in Go 1.26.
    toolchain: Some("go1.25.5"),
    manifests: &[],
    usual_time: "about three minutes",
};

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

    /// A file or directory of its module that was kept, by its path in the module.
    pub fn manifest(&self, path: &str) -> PathBuf {
        self.dir.join("manifests").join(path)
    }
}
