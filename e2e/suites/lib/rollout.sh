#!/bin/sh
# Waits until the WorkloadRollout `web` of a namespace on project-a shows its cities, in the order of its plan, in these states,
# each as CITY=STATE/REVISION, and goes to the newest generation of its spec.
#
#   rollout.sh NAMESPACE CITY=STATE/REVISION...
set -eu
. "$(dirname "$0")/wait.sh"
namespace=$1
shift
get() { kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" get --namespace "$namespace" workloadrollout web --output json; }
until
  seen=$(get | jq --raw-output 'if .status.observedGeneration == .metadata.generation
    then [.status.cities[]? | "\(.city)=\(.state)/\(.revision)"] | join(" ") else "another generation" end') && [ "$seen" = "$*" ]
do again "the rollout shows: $seen"; done
