//! The addresses of planes that the flags of `fedhub run` name.

use fedhub_planes::discovery::credentials::Source;

use crate::args::RunArgs;

/// The cell: a cluster of its own, or the one that the process runs in.
pub fn cell(args: &RunArgs) -> Source {
    match args.cell_kubeconfig.as_deref() {
        Some(file) => Source::file(file, args.cell_context.as_deref()),
        None => args.management.source(),
    }
}

/// The server where the cell role finds project planes, where quota is on.
pub fn quota(args: &RunArgs) -> Option<Source> {
    args.quota_kubeconfig.as_deref().map(|file| Source::file(file, None))
}

/// The server with the Projects, unless it is the management plane.
pub fn projects(args: &RunArgs) -> Option<Source> {
    args.discovery.projects(&args.management)
}
