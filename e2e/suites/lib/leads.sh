#!/bin/sh
# Waits until one replica leads and the other one is on standby, stopped or paused.
#
#   leads.sh first|second
set -eu
. "$(dirname "$0")/wait.sh"
# The release before has no label for the role.
leads() { timeout 5 "$E2E" fedhub metrics "$@" 2>&1 | sed -nE 's/^fedhub_leader([{]role="management"[}])? //p'; }
case $1 in
  first) expected='1 0' alone='1 ' ;;
  second) expected='0 1' alone=' 1' ;;
esac
until
  seen="$(leads) $(leads --second)"
  [ "$seen" = "$expected" ] || [ "$seen" = "$alone" ]
do again "who leads, first and second: $seen"; done
