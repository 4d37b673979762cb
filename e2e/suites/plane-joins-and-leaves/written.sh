#!/bin/sh
# Prints what fedhub wrote for project-c, or for any other project, since the time that a file contains.
#
#   written.sh own|others FILE HUB_NAMESPACE
set -eu
since=$(cat "$2")
if [ "$1" = own ]; then
  "$E2E" writes --since "$since" --plane hub --plane management --namespace "$3" --namespace "$NAMESPACE"
else
  "$E2E" writes --since "$since" --plane project-a --plane project-b
  # Its hub namespaces of earlier suites belong to it, too. The path of a create request does not name the namespace.
  of_c=$(kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" get namespaces -o name \
    --selector meta.datumapis.com/upstream-cluster-name=cluster-project-c | cut -d / -f 2)
  "$E2E" writes --since "$since" --plane hub | grep -v -e 'create /api/v1/namespaces?' -e "$of_c" || true
fi
