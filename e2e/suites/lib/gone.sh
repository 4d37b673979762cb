#!/bin/sh
# Waits until a WorkloadDeployment and all Instances of it are gone on a plane.
#
#   gone.sh PLANE NAMESPACE WD
set -eu
tries=0
while :; do
  left=$(kubectl --kubeconfig "$KUBECONFIGS/$1.yaml" get --namespace "$2" workloaddeployments,instances \
    --output name | grep -e "/$3\$" -e "/$3-[0-9]*\$" || true)
  if [ -z "$left" ]; then exit 0; fi
  tries=$((tries + 1))
  if [ $tries -gt 400 ]; then
    printf '%s still has\n%s\n' "$1" "$left" >&2
    exit 1
  fi
  sleep 0.1
done
