#!/bin/sh
# Waits until a cell's namespace has COUNT Instances that are Ready, and none with these UIDs.
#
#   rolled.sh NAMESPACE COUNT UIDS
set -eu
. "$(dirname "$0")/wait.sh"
# shellcheck disable=SC2016
format='{range .items[*]}{.metadata.uid} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}'
until
  seen=$(kubectl --kubeconfig "$KUBECONFIGS/cell-dfw.yaml" get --namespace "$1" instances -o "jsonpath=$format")
  old=$(for uid in $3; do printf '%s\n' "$seen" | grep -e "$uid" || true; done)
  [ -z "$old" ] && [ "$(printf '%s\n' "$seen" | grep -c 'True$')" = "$2" ]
do again "not rolled out: $seen"; done
