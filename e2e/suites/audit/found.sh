#!/bin/sh
# Waits until `fedhub audit` finds exactly this in the suite's namespaces, one argument for each finding, in the order of
# the alphabet: `FINDING ON KIND NAME`. What other suites left elsewhere does not count.
#
#   found.sh ["FINDING ON KIND NAME"...]
set -eu
here=$(dirname "$0")
. "$here/../lib/wait.sh"
expected=$(printf '%s\n' "$@")
# What could not be read is no audit, and finds nothing.
found() {
  all=$("$here/../lib/operator.sh" audit --grace=0s -o wide) || [ $? = 3 ] || return 1
  case $all in *' 0 not read'*) ;; *) echo "planes were not read: $all"; return ;; esac
  printf '%s\n' "$all" | awk -v one="$HUB/" -v two="$NAMESPACE/" '
    index($6, one) == 1 || index($6, two) == 1 { sub(/^[^/]*\//, "", $6); print $1, $4, $5, $6 }' | LC_ALL=C sort
}
until seen=$(found) && [ "$seen" = "$expected" ]; do again "expected:
$expected
and found:
$seen"; done
