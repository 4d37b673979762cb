#!/bin/sh
# `fedhub explain` of an object of the suite's namespace on project-a: with the management plane's kubeconfig of fedhub's
# own Pod, and the hub's of an operator, for Karmada's Works are not fedhub's business.
#
#   explain.sh wd|instance NAME
set -eu
unset FEDHUB_LOG FEDHUB_URL
own=$(dirname "$KUBECONFIGS")/fedhub
exec "$(dirname "$E2E")/fedhub" explain "$1" "$2" --namespace "$NAMESPACE" --plane project-a --output json \
  --management-kubeconfig "$own/management.yaml" --hub-kubeconfig "$KUBECONFIGS/hub.yaml"
