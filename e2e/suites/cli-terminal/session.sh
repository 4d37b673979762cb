#!/bin/sh
# One session in a terminal of so many columns.
#
#   session.sh COLUMNS
set -eu
. ../lib/wait.sh
columns=$1
TMUX_TMPDIR=$(mktemp -d)
export TMUX_TMPDIR
panes=panes/$columns
tmux() { LD_LIBRARY_PATH=$TMUX_LIBRARIES "$TMUX_PROGRAM" -u -L "$columns" -f /dev/null "$@"; }
trap 'tmux kill-server; rm -rf "$TMUX_TMPDIR"' EXIT
developer=$(dirname "$KUBECONFIGS")/scratch/developers/$NAMESPACE/project-a.yaml
tmux new-session -d -x "$columns" -y 50 \
  env -u LD_LIBRARY_PATH -u CI -u NO_COLOR HOME="$TMUX_TMPDIR" KUBECONFIG="$developer" PS1='$ ' LC_ALL=C.UTF-8 sh
tmux set-option -g status off

# What stands in the terminal. Ages differ from run to run.
pane() { tmux capture-pane -p | sed -E -e 's/\b[0-9]s( |$)/NNs\1/g' -e 's/NNs /NNs/g' -e 's/\b[0-9]{2}s\b/NNs/g' -e '/^$/d'; }
# Types a command, whose end shows its exit code.
typed() { tmux send-keys "clear; kubectl compute $*; echo \"[exit \$?]\"" Enter; }
# Waits until a line of the terminal matches.
shows() {
  tries=0
  until pane | grep -qE -- "$1"; do again "the terminal does not show $1:
$(pane)"; done
}
# Compares what stands there at the end of a command with what is to stand there.
is() {
  shows '^\[exit [0-9]+\]'
  [ -z "${UPDATE_PANES-}" ] || { mkdir -p "$panes"; pane >"$panes/$1.txt"; }
  pane | diff -u "$panes/$1.txt" - >&2
}

typed deploy web --image=docker.io/library/nginx:1.29 --city=DFW,ORD --min=1 --no-save
shows 'Deploy this'
tmux send-keys y Enter
is deploy
for command in status workloads instances 'rollout status web' 'explain web' cities; do
  typed "$command"
  is "$(echo "$command" | tr ' ' '-')"
done
# A wait that is interrupted.
typed deploy web --image=registry.invalid/web:2 --no-save --yes
is blocked
typed explain web
is explain-blocked
typed destroy web
shows '\[y/N\]'
tmux send-keys n Enter
is destroy-declined
typed destroy web
shows '\[y/N\]'
tmux send-keys y Enter
is destroy
