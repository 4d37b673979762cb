#!/bin/sh
# Edits an object by merge patches, one after the other, and after each waits until it is repaired, that is, written
# again. $KUBECONFIG selects the plane.
#
#   edit.sh NAMESPACE KIND/NAME PATCH...
set -eu
. "$(dirname "$0")/wait.sh"
namespace=$1 object=$2
shift 2
version() { kubectl get ${namespace:+--namespace "$namespace"} "$object" -o 'jsonpath={.metadata.resourceVersion}'; }
for patch in "$@"; do
  edited=$(kubectl patch ${namespace:+--namespace "$namespace"} "$object" --type=merge --patch "$patch" \
    -o 'jsonpath={.metadata.resourceVersion}')
  tries=0
  while [ "$(version)" = "$edited" ]; do again "$object was not written again after the edit $patch"; done
done
