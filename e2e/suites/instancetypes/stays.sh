#!/bin/sh
# Checks for ten seconds that InstanceTypes stay on planes: Karmada and fedhub would have deleted them by then.
#
#   stays.sh NAME PLANE...
set -eu
name=$1
shift
for _ in 1 2 3 4 5 6 7 8 9 10; do
  sleep 1
  for plane in "$@"; do
    kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" get instancetype "$name" -o name >/dev/null
  done
done
