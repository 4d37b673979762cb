#!/bin/sh
# Waits until the hub has the WorkloadDeployment `web` of a plane as it has to be.
#
#   hub.sh HUB_NAMESPACE REPLICAS
set -eu
tries=0
while :; do
  seen=$(kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" get --namespace "$1" workloaddeployment web --ignore-not-found \
    -o 'jsonpath={.spec.scaleSettings.minReplicas}' 2>&1 || true)
  [ "$seen" != "$2" ] || exit 0
  tries=$((tries + 1))
  if [ $tries -gt 400 ]; then
    echo "on the hub, in $1, web wants $seen replicas, not $2" >&2
    exit 1
  fi
  sleep 0.1
done
