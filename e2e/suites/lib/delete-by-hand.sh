#!/bin/sh
# Deletes a WorkloadDeployment on the hub by hand. The label that protects it has to be removed first, and fedhub
# restores it within milliseconds. Both requests therefore use one open connection and are repeated until they succeed.
# $KUBECONFIG is the hub's.
#
#   delete-by-hand.sh NAMESPACE NAME
set -eu
directory=$(mktemp -d)
kubectl proxy --unix-socket="$directory/socket" >"$directory/log" 2>&1 &
proxy=$!
trap 'kill $proxy; rm -r "$directory"' EXIT
while [ ! -S "$directory/socket" ]; do sleep 0.05; done
at=http://localhost/apis/compute.datumapis.com/v1alpha/namespaces/$1/workloaddeployments/$2
for _ in $(seq 500); do
  code=$(curl --silent --unix-socket "$directory/socket" --output /dev/null --request PATCH \
    --header 'Content-Type: application/merge-patch+json' \
    --data '{"metadata":{"labels":{"resourcetemplate.karmada.io/deletion-protected":null}}}' "$at" \
    --next --silent --unix-socket "$directory/socket" --output /dev/null --request DELETE --write-out '%{http_code}' "$at")
  if [ "$code" = 200 ]; then exit 0; fi
done
echo "could not delete it: $code" >&2
exit 1
