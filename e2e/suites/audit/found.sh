#!/bin/sh
# Waits until `fedhub audit` finds exactly this in the suite's namespaces, one argument for each finding, in the order of
# the alphabet: `FINDING ON KIND NAME`. What other suites left elsewhere does not count.
#
#   found.sh ["FINDING ON KIND NAME"...]
set -eu
here=$(dirname "$0")
. "$here/../lib/wait.sh"
expected=$(printf '%s\n' "$@")
found() {
  "$here/../lib/operator.sh" audit --grace=0s -o wide | awk -v one="$HUB/" -v two="$NAMESPACE/" '
    index($6, one) == 1 || index($6, two) == 1 { sub(/^[^/]*\//, "", $6); print $1, $4, $5, $6 }' | LC_ALL=C sort
}
until seen=$(found) && [ "$seen" = "$expected" ]; do again "expected:
$expected
and found:
$seen"; done
