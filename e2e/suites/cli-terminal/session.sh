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

# What stands in the terminal. Ages and addresses differ from run to run, and what follows them moves.
pane() {
  tmux capture-pane -p | sed -E -e 's/\b[0-9]+s( +|$)/NNs   /g' -e 's/fd00:[0-9a-f:…]+ +/fd00::1:2:3:4   /' \
    -e 's/INTERNAL IP +/INTERNAL IP     /' -e 's/ +$//' -e '/^$/d'
}
# Types a command, whose end shows NAME and its exit code, and waits until nothing is left of the one before.
#
#   typed NAME COMMAND...
typed() {
  now=$1
  shift
  tmux send-keys "clear; kubectl compute $*; echo \"[$now: exit \$?]\"" Enter
  tries=0
  while pane | grep -E '^\[.*: exit [0-9]+\]' | grep -qvF "[$now: "; do again "the terminal is not cleared: $(pane)"; done
}
# Waits until a line of the terminal matches.
shows() {
  tries=0
  until pane | grep -qE -- "$1"; do again "the terminal does not show $1:
$(pane)"; done
}
# Compares what stands there at the end of the command with what is to stand there.
is_right() {
  shows "^\\[$now: exit [0-9]+\\]"
  [ -z "${UPDATE_PANES-}" ] || { mkdir -p "$panes"; pane >"$panes/$now.txt"; }
  pane | diff -u "$panes/$now.txt" - >&2
}

typed deploy deploy web --image=docker.io/library/nginx:1.29 --city=DFW,ORD --min=1 --no-save
shows 'Deploy this'
tmux send-keys y Enter
is_right
for command in status workloads instances 'rollout status web' 'explain web' cities; do
  typed "$(echo "$command" | tr ' ' '-')" "$command"
  is_right
done
typed blocked deploy web --image=registry.invalid/web:2 --no-save --yes
is_right
typed explain-blocked explain web
is_right
typed destroy-declined destroy web
shows 'Delete it'
tmux send-keys n Enter
is_right
typed destroy destroy web
shows 'Delete it'
tmux send-keys y Enter
is_right
