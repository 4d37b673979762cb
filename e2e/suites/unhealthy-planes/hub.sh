#!/bin/sh
# Waits until the hub has the WorkloadDeployment `web` of a plane with that number of replicas.
#
#   hub.sh HUB_NAMESPACE REPLICAS
set -eu
. "$(dirname "$0")/../lib/wait.sh"
seen() { kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" get --namespace "$1" workloaddeployment web --ignore-not-found \
  -o 'jsonpath={.spec.scaleSettings.minReplicas}' 2>&1; }
until [ "$(seen "$1")" = "$2" ]; do again "on the hub, in $1, web wants $(seen "$1") replicas, not $2"; done
