//! Texts that are shown after the help of commands without a file of their own.

/// Shown after the help of `fedhub run`.
pub const RUN: &str = "\
Examples:
  fedhub run --enable-management-controllers --discovery=kubeconfigs --hub-kubeconfig hub.yaml
  fedhub run --enable-cell-controllers --cell-name=cell-dfw --cell-city=DFW --hub-kubeconfig hub-for-cell.yaml

Outside of a cluster, --management-kubeconfig takes the place of the Pod's service account. `fedhub check` with the same
flags says what is missing.

Exit codes: 0: it was told to shut down; 1: it could not start, or had to end; 2: misuse.";

/// Shown after the help of `fedhub crds`.
pub const CRDS: &str = "\
Example:
  fedhub crds | kubectl --context HUB apply --server-side -f -";

/// Shown after the help of `fedhub completions`.
pub const COMPLETIONS: &str = "\
Example:
  source <(fedhub completions bash)";

/// Shown after the help of `fedhub man`.
pub const MAN: &str = "\
Examples:
  fedhub man | man -l -
  fedhub man --dir /usr/local/share/man/man1";
