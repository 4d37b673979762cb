#!/bin/sh
# The network service of the cell in DFW has a fault with the binding of a network from now on, or has none any more.
#
#   fault.sh NAMESPACE NETWORK [FAULT]
set -eu
export KUBECONFIG=$KUBECONFIGS/cell-dfw.yaml
. "$(dirname "$0")/../lib/wait.sh"
until
  binding=$(kubectl get --namespace "$1" networkbindings \
    -o "jsonpath={.items[?(@.spec.network.name==\"$2\")].metadata.name}")
  [ -n "$binding" ]
do again "no binding of network $2"; done
if [ "${3:-}" ]; then fault="=$3"; else fault=-; fi
kubectl annotate --overwrite --namespace "$1" networkbinding "$binding" "simulate.fedhub.dev/fault$fault"
