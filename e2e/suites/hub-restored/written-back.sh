#!/bin/sh
# Waits until fedhub knows that the cell of DFW has written back, and sees to it that the hub is trusted then. Where other
# suites left something in another city that its cell has no reason to write again, an operator says so.
set -eu
here=$(dirname "$0")
. "$here/../lib/wait.sh"
trusted() { "$E2E" fedhub metrics | grep -Fqx 'fedhub_hub_restored 0'; }
# What is awaited, by the last line since the hub was restored.
awaited() { awk '/hub was restored from a backup/ { last = "DFW" } /cells that have not written back/ { last = $0 } END { print last }' "$FEDHUB_LOG"; }
until trusted || ! awaited | grep -q DFW; do again "the cell has not written back: $(awaited)"; done
trusted || "$here/operator.sh" accept-restore
"$here/restored.sh" 0
