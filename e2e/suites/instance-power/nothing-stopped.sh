#!/bin/sh
# Waits until the WorkloadDeployment on a plane asks no Instance to stop.
#
#   nothing-stopped.sh PLANE NAMESPACE
set -eu
. ../lib/wait.sh
plane=$1 namespace=$2
while
  asked=$(kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" get --namespace "$namespace" workloaddeployment web-default-dfw \
    --output 'jsonpath={.metadata.annotations.compute\.datumapis\.com/instance-power}')
  printf '%s' "$asked" | grep -q Stopped
do again "$plane: asks for $asked"; done
