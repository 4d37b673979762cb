#!/bin/sh
# Prints the UID of an object on project-a, without a line break.
#
#   uid.sh NAMESPACE KIND/NAME
set -eu
export KUBECONFIG="$KUBECONFIGS/project-a.yaml"
kubectl get --namespace "$1" "$2" --output 'jsonpath={.metadata.uid}'
