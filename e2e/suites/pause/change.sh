#!/bin/sh
# Changes what fedhub would answer: a deletion, a new WorkloadDeployment, and a label that is removed on the hub.
set -eu
kubectl delete --namespace "$NAMESPACE" workloaddeployment leaves --wait=false
"$(dirname "$0")/../lib/siblings.sh" DFW late
kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" annotate --overwrite --namespace "$HUB" workloaddeployment web \
  federation.datumapis.com/source-generation=99
