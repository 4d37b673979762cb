#!/bin/sh
# Prints what fedhub wrote about project-c, or about any other project, since the instant that is in a file.
#
#   written.sh own|others FILE HUB_NAMESPACE
set -eu
since=$(cat "$2")
if [ "$1" = own ]; then
  "$E2E" writes --since "$since" --plane hub --plane management --namespace "$3" --namespace "$NAMESPACE"
else
  "$E2E" writes --since "$since" --plane project-a --plane project-b
  # Its hub namespaces of earlier suites are its own, too. A namespace that is made is not named by the path.
  of_c=$(kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" get namespaces -o name \
    --selector meta.datumapis.com/upstream-cluster-name=cluster-project-c | cut -d / -f 2)
  "$E2E" writes --since "$since" --plane hub | grep -v -e 'create /api/v1/namespaces?' -e "$of_c" || true
fi
