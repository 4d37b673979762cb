//! Texts that are shown after the help of commands.

/// Shown after the help of the program.
pub const TOP: &str = "\
Exit codes: 0: done; 1: failed; 2: misuse; 3: timed out; 4: blocked; 9 to 13: compute is not enabled in the project; \
130: interrupted. `datumctl compute COMMAND --help` has examples of each command.";

/// Shown after the help of `access`.
pub const ACCESS: &str = "\
Examples:
  datumctl compute access
  datumctl compute access -o json
  datumctl compute access request --wait

Exit codes: 0: the state was told, whatever it is; 1: it could not be read.";

/// Shown after the help of `access request`.
pub const ACCESS_REQUEST: &str = "\
Examples:
  datumctl compute access request --message 'For the shop'
  datumctl compute access request --wait --timeout 1h

Exit codes: 0: enabled, or asked for; 11: denied or withdrawn; 12: not decided when the time to wait was over; 13: not \
offered on this platform.";

/// Shown after the help of `deploy`.
pub const DEPLOY: &str = "\
Examples:
  datumctl compute deploy api --image ghcr.io/acme/api:1.2 --city DFW,ORD --min 2
  datumctl compute deploy api --image ghcr.io/acme/api:1.3
  datumctl compute deploy api --env LOG=debug --env OLD- --secret tls:/etc/tls
  datumctl compute deploy api --http-port 8080
  datumctl compute deploy -f workload.yaml --dry-run=server
  datumctl compute deploy -f - --yes < workloads.yaml

What the flags do not name stays as it is. A file says the whole spec; labels and annotations that it does not name stay.
Exit codes: 0: it runs everywhere; 1: failed; 2: misuse, or a file that is not valid; 3: not done when the time to wait \
was over; 4: blocked, such as by a quota or a missing image.";

/// Shown after the help of `destroy`.
pub const DESTROY: &str = "\
Examples:
  datumctl compute destroy api
  datumctl compute destroy api --yes --no-wait

Exit codes: 0: gone, or with --no-wait on its way; 1: failed, or not wanted; 2: no terminal to ask on; 3: not gone yet when \
the time to wait was over.";

/// Shown after the help of `completion`.
pub const COMPLETION: &str = "\
Examples:
  source <(datumctl-compute completion bash)
  datumctl-compute completion fish > ~/.config/fish/completions/datumctl-compute.fish

Through datumctl and kubectl, their own completion asks this program.";

/// Shown after the help of `man`.
pub const MAN: &str = "\
Examples:
  datumctl compute man | man -l -
  datumctl compute man --dir ~/.local/share/man/man1";

/// Shown after the help of `restart`.
pub const RESTART: &str = "\
Examples:
  datumctl compute restart web
  datumctl compute restart web --city DFW --timeout 5m
  datumctl compute restart web --no-wait";

/// Shown after the help of `rollout`.
pub const ROLLOUT: &str = "\
Examples:
  datumctl compute rollout web
  datumctl compute rollout history web
  datumctl compute rollout undo web --to-revision 3

Exit codes: 0: done; 3: not done when the time to wait was over; 4: blocked; 130: Ctrl-C, which stops watching and not \
the rollout.";

/// Shown after the help of `scale`.
pub const SCALE: &str = "\
Examples:
  datumctl compute scale web --min 3
  datumctl compute scale web --min 2 --max 10 --cpu-percent 70
  datumctl compute scale web --max 0

What is not named stands. --max needs something to measure: --cpu-percent or --memory-percent, unless the workload has one.";

/// Shown after the help of `rollout status`.
pub const ROLLOUT_STATUS: &str = "\
Examples:
  datumctl compute rollout status web
  datumctl compute rollout web --timeout 5m
  datumctl compute rollout status web --watch=false -o json

Exit codes: 0: done; 3: not done when the time to wait was over; 4: blocked, or paused with changes that are held back.";

/// Shown after the help of `rollout history`.
pub const ROLLOUT_HISTORY: &str = "\
Examples:
  datumctl compute rollout history web
  datumctl compute rollout history web --revision 3";

/// Shown after the help of `rollout undo`.
pub const ROLLOUT_UNDO: &str = "\
Examples:
  datumctl compute rollout undo web
  datumctl compute rollout undo web --to-revision 3
  datumctl compute rollout undo web --dry-run

The template of the revision is restored as it was recorded; placements and scale stay. A workload that is changed at the \
same time is left alone.";

/// Shown after the help of `rollout pause` and `rollout resume`.
pub const ROLLOUT_PAUSE: &str = "\
Examples:
  datumctl compute rollout pause web
  datumctl compute deploy web --image web:2
  datumctl compute rollout resume web

While a rollout is paused, changes are stored; a new template, a restart and new cities wait until it is resumed. The number \
of instances changes, and cities that are left are removed, all the same. What was passed on to a city before the pause goes \
on there.";

/// Shown after the help of `rollout approve`.
pub const ROLLOUT_APPROVE: &str = "\
Examples:
  datumctl compute rollout approve web --wave canary
  datumctl compute rollout approve web --wave eu --before

`rollout status` shows which wave requires approval. An approval is of the revision that is rolled out now, and is not taken \
back. The workload needs a WorkloadRollout.";

/// Shown after the help of `rollout abort` and `rollout retry`.
pub const ROLLOUT_ABORT: &str = "\
Examples:
  datumctl compute rollout abort web
  datumctl compute rollout abort web --yes
  datumctl compute rollout retry web

An aborted rollout stays so, whatever templates come, until `rollout retry` begins it anew. One that was rolled back needs a \
newer template. The workload needs a WorkloadRollout; without one, `rollout undo` goes back.";
