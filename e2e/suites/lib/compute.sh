#!/bin/sh
# Runs the users' command line as the developer of the suite's namespace (developer.sh), as kubectl's plugin. Prints what it
# prints. Fails unless it ends with CODE and what it says on either stream has a line that matches PATTERN (grep -E).
#
#   compute.sh CODE PATTERN COMMAND ARGUMENT...
#
# $PLANE names the plane, where that is not project-a. $HOST is another program that runs it than `kubectl compute`.
set -u
code=$1 pattern=$2
shift 2
scratch=$(dirname "$KUBECONFIGS")/scratch
developer=$scratch/developers/$NAMESPACE/${PLANE:-project-a}.yaml
said=$(mktemp -d "$scratch/said-XXXXXX")
trap 'rm -rf "$said"' EXIT
# What fails is to fail here, before the suite's own time is over. kubectl keeps what it knows of servers in $HOME.
# shellcheck disable=SC2086
HOME=$said KUBECONFIG=$developer timeout 80 ${HOST:-kubectl compute} "$@" >"$said/out" 2>"$said/err"
ended=$?
cat "$said/out"
cat "$said/err" >&2
if [ "$ended" != "$code" ]; then
  echo "compute $*: ended with $ended in place of $code" >&2
  exit 1
fi
cat "$said/out" "$said/err" | grep -qE -- "$pattern" || {
  echo "compute $*: no line matches $pattern" >&2
  exit 1
}
