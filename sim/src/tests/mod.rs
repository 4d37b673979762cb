//! Conformance: what a kube-apiserver does, and this server too, seen through kube.

mod watcher;
