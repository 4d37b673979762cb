#!/bin/sh
# The connection between a cell's fedhub and the hub, which can be cut.
#
#   link.sh start CELL   the cell's fedhub uses it
#   link.sh cut|mend     silently drops everything; forwards it again
#   link.sh end
set -eu
. "$(dirname "$0")/wait.sh"
scratch=$(dirname "$KUBECONFIGS")/scratch
case $1 in
  start)
    rm -f "$scratch/link.yaml"
    "$E2E" link --from "$CELLS/hub-cell-${2#cell-}.yaml" --kubeconfig "$scratch/link.yaml" \
      >"$(dirname "$KUBECONFIGS")/logs/link.log" 2>&1 </dev/null &
    echo $! >"$scratch/link.pid"
    until [ -e "$scratch/link.yaml" ]; do again "the line does not begin: logs/link.log"; done
    "$E2E" fedhub start --cell "$2" --with="--hub-kubeconfig=$scratch/link.yaml"
    ;;
  cut) kill -STOP "$(cat "$scratch/link.pid")" ;;
  mend) kill -CONT "$(cat "$scratch/link.pid")" ;;
  end)
    kill -CONT "$(cat "$scratch/link.pid")"
    kill "$(cat "$scratch/link.pid")"
    ;;
esac
