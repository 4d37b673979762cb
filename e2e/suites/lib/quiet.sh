#!/bin/sh
# Touches objects, each with an unknown label, waits until fedhub has reconciled them and is idle, and prints what it
# wrote on any plane: nothing, if it complies with I7.
#
#   quiet.sh PLANE NAMESPACE KIND/NAME...
set -eu
. "$(dirname "$0")/wait.sh"
plane=$1 namespace=$2
shift 2
passes() { "$E2E" fedhub metrics | awk '/^fedhub_reconciles_total/ { sum += $2 } END { print sum + 0 }'; }
now=$("$E2E" now)
for object in "$@"; do
  before=$(passes)
  kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" label --overwrite --namespace "$namespace" "$object" \
    "example.com/touched=$(date +%s%N)" >&2
  tries=0
  while [ "$(passes)" = "$before" ]; do again "fedhub never looked at $object"; done
done
"$E2E" fedhub settle
"$E2E" writes --since "$now"
