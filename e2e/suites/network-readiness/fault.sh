#!/bin/sh
# The network service has a fault with the binding of a network from now on, or has none any more. $KUBECONFIG is the
# cell's.
#
#   fault.sh NAMESPACE NETWORK [FAULT]
set -eu
tries=0
while :; do
  binding=$(kubectl get --namespace "$1" networkbindings \
    -o "jsonpath={.items[?(@.spec.network.name==\"$2\")].metadata.name}")
  if [ -n "$binding" ]; then break; fi
  tries=$((tries + 1))
  [ $tries -le 200 ] || exit 1
  sleep 0.1
done
kubectl annotate --overwrite --namespace "$1" networkbinding "$binding" "simulate.fedhub.dev/fault${3:+=$3}${3:--}"
