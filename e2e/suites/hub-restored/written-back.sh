#!/bin/sh
# Waits until fedhub knows that the cell of DFW has written back, and then until the hub is trusted. Where other suites
# left objects in another city that its cell has no reason to write again, an operator accepts the restore.
set -eu
here=$(dirname "$0")
. "$here/../lib/wait.sh"
trusted() { "$E2E" fedhub metrics | grep -Fqx 'fedhub_hub_restored 0'; }
# The cells that fedhub waits for, from the last log line since the hub was restored.
awaited() { awk '/hub was restored from a backup/ { last = "DFW" } /cells that have not written back/ { last = $0 } END { print last }' "$FEDHUB_LOG"; }
until trusted || ! awaited | grep -q DFW; do again "the cell has not written back: $(awaited)"; done
trusted || "$here/operator.sh" accept-restore
"$here/restored.sh" 0
