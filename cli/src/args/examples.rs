//! What the help of commands ends with.

/// Of the program.
pub const TOP: &str = "\
Exit codes: 0: done; 1: failed; 2: misuse; 3: timed out; 4: blocked; 9 to 13: compute is not enabled in the project;
130: interrupted. `datumctl compute COMMAND --help` has examples of each command.";

/// Of `access`.
pub const ACCESS: &str = "\
Examples:
  datumctl compute access
  datumctl compute access request --message 'For the shop'
  datumctl compute access request --wait --timeout 1h

Exit codes: 0: enabled, or asked for; 10: not enabled; 11: denied or withdrawn; 12: still pending when the time to wait
was over; 13: not offered here.";

/// Of `destroy`.
pub const DESTROY: &str = "\
Examples:
  datumctl compute destroy api
  datumctl compute destroy api --yes --no-wait";

/// Of `completion`.
pub const COMPLETION: &str = "\
Examples:
  source <(datumctl-compute completion bash)
  datumctl-compute completion fish > ~/.config/fish/completions/datumctl-compute.fish

Through datumctl and kubectl, their own completion asks this program.";

/// Of `man`.
pub const MAN: &str = "\
Examples:
  datumctl compute man | man -l -
  datumctl compute man --dir ~/.local/share/man/man1";
