#!/bin/sh
# Waits until a WorkloadDeployment reports on its project plane that COUNT replicas of its newest generation are desired
# and ready, and has exactly those Instances there, all of them Ready. Its rollout is then complete on every plane.
#
#   ready.sh PLANE NAMESPACE WD COUNT
set -eu
. "$(dirname "$0")/wait.sh"
format='{.metadata.generation} {.status.observedGeneration} {.status.desiredReplicas} {.status.replicas} {.status.readyReplicas}'
until
  seen=$(kubectl --kubeconfig "$KUBECONFIGS/$1.yaml" get --ignore-not-found --namespace "$2" workloaddeployment "$3" \
    --output "jsonpath=$format")
  echo "$seen" | awk -v n="$4" '{ exit !(NF == 5 && $1 == $2 && $3 == n && $4 == n && $5 == n) }'
do again "$3 on $1: $4 are not ready; generation, observed, desired, replicas, ready: $seen"; done
exec "$(dirname "$0")/instances.sh" "$@"
