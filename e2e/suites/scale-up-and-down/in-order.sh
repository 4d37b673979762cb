#!/bin/sh
# Fails unless each Instance was created after the previous one was Ready, in whole seconds. $KUBECONFIG is the cell's.
#
#   in-order.sh NAMESPACE WD COUNT
set -eu
previous=
for ordinal in $(seq 0 $(($3 - 1))); do
  made=$(kubectl get --namespace "$1" instance "$2-$ordinal" -o 'jsonpath={.metadata.creationTimestamp}')
  if [ "$previous" ] && [ "$(printf '%s\n%s\n' "$previous" "$made" | sort | head -n 1)" != "$previous" ]; then
    echo "$2-$ordinal was made at $made, before the one before it was ready, at $previous" >&2
    exit 1
  fi
  previous=$(kubectl get --namespace "$1" instance "$2-$ordinal" \
    -o 'jsonpath={.status.conditions[?(@.type=="Ready")].lastTransitionTime}')
done
