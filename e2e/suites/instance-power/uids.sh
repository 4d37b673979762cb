#!/bin/sh
# Prints the Instances of the suite's namespace in their cell, each with its UID, in the order of their names.
set -eu
kubectl --kubeconfig "$KUBECONFIGS/cell-dfw.yaml" get --namespace "$HUB" instances \
  --output 'jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{"\n"}{end}' | sort
