#!/bin/sh
# Waits for a line of fedhub's log that contains all these words.
#
#   await-log.sh WORD...
set -eu
for _ in $(seq 400); do
  lines=$(cat "$FEDHUB_LOG")
  for word in "$@"; do
    lines=$(printf '%s\n' "$lines" | grep -F -e "$word") || break
  done
  if [ -n "$lines" ]; then
    printf '%s\n' "$lines" | tail -n 1
    exit 0
  fi
  sleep 0.2
done
echo "fedhub's log has no line with: $*" >&2
exit 1
