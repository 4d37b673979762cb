#!/bin/sh
# Makes the Instances of `web` use so many thousandths of a core together.
#
#   uses.sh MILLICORES
set -eu
kubectl --kubeconfig "$KUBECONFIGS/cell-dfw.yaml" annotate --overwrite --namespace "$HUB" workloaddeployment web \
  "simulate.fedhub.dev/cpu-millicores=$1"
