#!/bin/sh
# Records the NetworkBindings of a namespace of the cell in DFW from `start` on. `check` verifies that from the first
# Ready binding on there was a Ready one at each moment.
#
#   bound.sh start NAMESPACE
#   bound.sh check|end
set -eu
scratch=$(dirname "$KUBECONFIGS")/scratch/bound
case $1 in
  start)
    rm -rf "$scratch"
    mkdir -p "$scratch"
    # shellcheck disable=SC2016
    kubectl --kubeconfig "$KUBECONFIGS/cell-dfw.yaml" get --namespace "$2" networkbindings --watch --output-watch-events \
      -o 'jsonpath={.type} {.object.metadata.name} ready={.object.status.conditions[?(@.type=="Ready")].status} gone={.object.metadata.deletionTimestamp}{"\n"}' \
      >"$scratch/events" 2>"$scratch/errors" </dev/null &
    echo $! >"$scratch/pid"
    . "$(dirname "$0")/../lib/wait.sh"
    until grep -q 'ready=True gone=$' "$scratch/events"; do again "the watch does not begin: $(cat "$scratch/errors")"; done
    ;;
  check)
    awk '{ ready[$2] = $1 != "DELETED" && $3 == "ready=True" && $4 == "gone="; n = 0; for (name in ready) n += ready[name]
        if (n > 0) begun = 1
        if (begun && n == 0) { print "no binding is ready after:", $0; bad = 1 } }
      END { exit bad }' "$scratch/events" >&2
    grep -c . "$scratch/events"
    ;;
  end)
    kill "$(cat "$scratch/pid")" 2>/dev/null || true
    ;;
esac
