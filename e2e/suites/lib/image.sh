#!/bin/sh
# Gives the Workload `web` of a namespace on project-a another image.
#
#   image.sh NAMESPACE IMAGE
set -eu
kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" patch --namespace "$1" workload web --type=json --patch \
  '[{"op":"replace","path":"/spec/template/spec/runtime/sandbox/containers/0/image","value":"'"$2"'"}]'
