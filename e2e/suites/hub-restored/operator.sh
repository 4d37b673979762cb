#!/bin/sh
# `fedhub hub ...`, as an operator of the management plane.
set -eu
unset FEDHUB_LOG FEDHUB_URL
namespace=$(kubectl --kubeconfig "$KUBECONFIGS/management.yaml" get configmaps --all-namespaces \
  --field-selector metadata.name=fedhub-hub-history -o 'jsonpath={.items[0].metadata.namespace}')
case $1 in accept-restore) set -- "$@" --yes --hub-kubeconfig "$KUBECONFIGS/hub.yaml" ;; esac
"$(dirname "$E2E")/fedhub" hub "$@" --management-kubeconfig "$KUBECONFIGS/management.yaml" --namespace "$namespace"
