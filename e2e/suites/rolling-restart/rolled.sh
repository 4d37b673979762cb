#!/bin/sh
# Waits until a cell's namespace has COUNT Instances that are Ready, and none of those with these UIDs.
#
#   rolled.sh NAMESPACE COUNT UIDS
set -eu
# shellcheck disable=SC2016
format='{range .items[*]}{.metadata.uid} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}'
tries=0
while :; do
  seen=$(kubectl --kubeconfig "$KUBECONFIGS/cell-dfw.yaml" get --namespace "$1" instances -o "jsonpath=$format")
  old=$(for uid in $3; do printf '%s\n' "$seen" | grep -e "$uid" || true; done)
  if [ -z "$old" ] && [ "$(printf '%s\n' "$seen" | grep -c 'True$')" = "$2" ]; then exit 0; fi
  tries=$((tries + 1))
  if [ $tries -gt 400 ]; then
    printf 'not rolled out:\n%s\n' "$seen" >&2
    exit 1
  fi
  sleep 0.1
done
