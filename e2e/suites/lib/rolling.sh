#!/bin/sh
# Watches the Instances of a cell's namespace during a rollout of COUNT, and verifies that there were never more than
# MOST, and never fewer than LEAST that are Ready.
#
#   rolling.sh NAMESPACE start
#   rolling.sh NAMESPACE end COUNT LEAST MOST
set -eu
file=$(dirname "$KUBECONFIGS")/scratch/rolling-$1
if [ "$2" = start ]; then
  # shellcheck disable=SC2016
  timeout 120 kubectl --kubeconfig "$KUBECONFIGS/cell-dfw.yaml" get --namespace "$1" instances --watch \
    --output-watch-events -o 'jsonpath={.type} {.object.metadata.name} {.object.status.conditions[?(@.type=="Ready")].status}{"\n"}' \
    >"$file" 2>&1 </dev/null &
  echo $! >"$file.pid"
  until [ -s "$file" ]; do sleep 0.05; done
  exit
fi
# The last event may still be on its way.
sleep 0.5
kill "$(cat "$file.pid")"
awk -v count="$3" -v least="$4" -v most="$5" '
  $1 == "DELETED" { delete ready[$2] }
  $1 == "ADDED" || $1 == "MODIFIED" { ready[$2] = $3 == "True" }
  {
    all = 0; well = 0
    for (name in ready) { all++; well += ready[name] }
    if (all >= count) full = 1
    if (all > most) { print "more than " most " Instances"; failed = 1 }
    if (full && well < least) { print "only " well " ready, at: " $0; failed = 1 }
  }
  END { if (!full) { print "nothing was seen"; failed = 1 }; exit failed }' "$file"
