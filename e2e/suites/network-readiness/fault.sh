#!/bin/sh
# The network service of the cell in DFW has a fault with the binding of a network from now on, or has none any more.
#
#   fault.sh NAMESPACE NETWORK [FAULT]
set -eu
export KUBECONFIG=$KUBECONFIGS/cell-dfw.yaml
tries=0
while :; do
  binding=$(kubectl get --namespace "$1" networkbindings \
    -o "jsonpath={.items[?(@.spec.network.name==\"$2\")].metadata.name}")
  if [ -n "$binding" ]; then break; fi
  tries=$((tries + 1))
  [ $tries -le 400 ] || exit 1
  sleep 0.1
done
if [ "${3:-}" ]; then fault="=$3"; else fault=-; fi
kubectl annotate --overwrite --namespace "$1" networkbinding "$binding" "simulate.fedhub.dev/fault$fault"
