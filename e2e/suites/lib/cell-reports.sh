#!/bin/sh
# The cell's controller, played: a report on a WorkloadDeployment, its newest generation seen, once Karmada has brought
# it. $KUBECONFIG is the cell's.
#
#   cell-reports.sh HUB_NAMESPACE NAME REPLICAS READY
set -eu
namespace=$1 name=$2 replicas=$3 ready=$4
kubectl wait --namespace "$namespace" workloaddeployment "$name" --for=create --timeout=40s >&2
generation=$(kubectl get --namespace "$namespace" workloaddeployment "$name" -o 'jsonpath={.metadata.generation}')
if [ "$ready" = 0 ]; then available=False; else available=True; fi
kubectl patch --namespace "$namespace" workloaddeployment "$name" --subresource=status --type=merge --patch '{"status":{
  "observedGeneration":'"$generation"', "suspended":false, "location":{"name":"played"},
  "replicas":'"$replicas"', "currentReplicas":'"$replicas"', "updatedReplicas":'"$replicas"',
  "desiredReplicas":'"$replicas"', "readyReplicas":'"$ready"',
  "selector":"compute.datumapis.com/workload-deployment-name='"$name"'",
  "conditions":[
    {"type":"Available","status":"'$available'","reason":"Played","message":"said by a suite",
     "lastTransitionTime":"2026-01-02T03:04:05Z","observedGeneration":'"$generation"'},
    {"type":"ReplicasReady","status":"'$available'","reason":"Played","message":"said by a suite",
     "lastTransitionTime":"2026-01-02T03:04:05Z","observedGeneration":'"$generation"'}]}}'
