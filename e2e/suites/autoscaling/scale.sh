#!/bin/sh
# Prints what the scale subresource of the WorkloadDeployment `web` says on each plane: wanted, there, selector.
#
#   scale.sh
set -eu
for plane in "cell-dfw $HUB" "hub $HUB" "project-a $NAMESPACE"; do
  kubectl --kubeconfig "$KUBECONFIGS/${plane% *}.yaml" get --namespace "${plane#* }" workloaddeployment web \
    --subresource=scale -o 'jsonpath={.spec.replicas} {.status.replicas} {.status.selector}{"\n"}'
done
