#!/bin/sh
# Prints the scale subresource of the WorkloadDeployment `web` on each plane: desired replicas, replicas, selector.
#
#   scale.sh
set -eu
for plane in "cell-dfw $HUB" "hub $HUB" "project-a $NAMESPACE"; do
  kubectl --kubeconfig "$KUBECONFIGS/${plane% *}.yaml" get --namespace "${plane#* }" workloaddeployment web \
    --subresource=scale -o 'jsonpath={.spec.replicas} {.status.replicas} {.status.selector}{"\n"}'
done
