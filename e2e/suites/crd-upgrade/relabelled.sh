#!/bin/sh
# Waits until no Instance in a namespace of a cell has a hash in another controller's format.
#
#   relabelled.sh NAMESPACE [CELL]
set -eu
. "$(dirname "$0")/../lib/wait.sh"
until
  hashes=$(kubectl --kubeconfig "$KUBECONFIGS/${2:-cell-dfw}.yaml" get --namespace "$1" instances \
    --output 'jsonpath={.items[*].spec.controller.templateHash}')
  [ -n "$hashes" ] && ! printf %s "$hashes" | grep -q 5c7f9b8d6
do again "the hashes are still $hashes"; done
