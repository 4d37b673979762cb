#!/bin/sh
# Waits until one replica leads and the other one stands by, or does not run, or is paused.
#
#   leads.sh first|second
set -eu
leads() { timeout 5 "$E2E" fedhub metrics "$@" 2>&1 | sed -n 's/^fedhub_leader //p'; }
case $1 in
  first) expected='1 0' alone='1 ' ;;
  second) expected='0 1' alone=' 1' ;;
esac
tries=0
while :; do
  seen="$(leads) $(leads --second)"
  if [ "$seen" = "$expected" ] || [ "$seen" = "$alone" ]; then exit 0; fi
  tries=$((tries + 1))
  if [ $tries -gt 400 ]; then
    echo "who leads, first and second: $seen" >&2
    exit 1
  fi
  sleep 0.1
done
