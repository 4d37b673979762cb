#!/bin/sh
# Waits until fedhub has so many project planes in a state, and none engaging.
#
#   state.sh STATE COUNT
set -eu
. "$(dirname "$0")/../lib/wait.sh"
planes() { curl --silent "$FEDHUB_URL/metrics" | awk -v state="$1" '/^fedhub_planes\{/ { n[$1] = $2; seen = 1 }
  END { print seen ? n["fedhub_planes{state=\"" state "\"}"] + n["fedhub_planes{state=\"engaging\"}"] : "none" }'; }
until seen=$(planes "$1") && [ "$seen" = "$2" ]; do again "$1: $seen, not $2"; done
