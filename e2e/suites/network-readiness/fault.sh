#!/bin/sh
# Gives the network service of the cell in DFW a fault with the binding of a network, or removes the fault.
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
