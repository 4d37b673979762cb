#!/bin/sh
# Waits until fedhub has so many project planes engaged, and none engaging. With a second number, verifies for so many
# seconds that this does not change.
#
#   engaged.sh COUNT [SECONDS]
set -eu
. "$(dirname "$0")/wait.sh"
planes() { curl --silent "$FEDHUB_URL/metrics" | awk '/^fedhub_planes\{/ { n[$1] = $2 }
  END { print n["fedhub_planes{state=\"engaged\"}"] + 0, n["fedhub_planes{state=\"engaging\"}"] + 0 }'; }
until [ "$(planes)" = "$1 0" ]; do again "engaged and engaging: $(planes), not $1 0"; done
looks=0
while [ $looks -lt $((${2:-0} * 10)) ]; do
  looks=$((looks + 1))
  sleep 0.1
  [ "$(planes)" = "$1 0" ] || { echo "it did not stay so: $(planes)" >&2; exit 1; }
done
