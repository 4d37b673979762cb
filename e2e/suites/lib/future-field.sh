#!/bin/sh
# Simulates a newer version of the CRDs: adds a field `future` to spec and status of WorkloadDeployments and Instances,
# or removes it. Returns when the planes serve the new schema.
#
#   future-field.sh add|remove PLANE...
set -eu
. "$(dirname "$0")/wait.sh"
action=$1
shift
schema=/spec/versions/0/schema/openAPIV3Schema/properties
value='{"type":"object","properties":{"mode":{"type":"string"},"levels":{"type":"array","items":{"type":"integer"}}}}'
patch=
for part in spec status; do
  if [ "$action" = add ]; then
    patch="$patch{\"op\":\"add\",\"path\":\"$schema/$part/properties/future\",\"value\":$value},"
  else
    patch="$patch{\"op\":\"remove\",\"path\":\"$schema/$part/properties/future\"},"
  fi
done
serves() {
  sed -e '/^#/d' -e 's/(\$wd)/probe/' -e 's/(\$city)/DFW/' -e 's/^spec:/spec:\n  future: {mode: probed}/' \
    "$(dirname "$0")/deployment.yaml" \
    | kubectl --kubeconfig "$1" create --namespace default --dry-run=server --validate=false -o json -f - \
    | grep -q probed
}
# A watch that started before the change keeps the old schema until the server closes all watches a second later.
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
change() {
  kubeconfig=$KUBECONFIGS/$1.yaml crd=$2 log=$scratch/$1-$2
  has=$(kubectl --kubeconfig "$kubeconfig" get crd "$crd.compute.datumapis.com" \
    -o 'jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.future.type}')
  case "$action:$has" in
    add: | remove:?*) ;;
    *) return ;;
  esac
  from='watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=30'
  kubectl --kubeconfig "$kubeconfig" get --raw "/apis/compute.datumapis.com/v1alpha/$crd?$from" >"$log" &
  until grep -q initial-events-end "$log"; do sleep 0.05; done
  kubectl --kubeconfig "$kubeconfig" patch crd "$crd.compute.datumapis.com" --type=json --patch "[${patch%,}]"
  wait $!
}
for plane in "$@"; do
  for crd in workloaddeployments instances; do change "$plane" $crd & done
done
wait
for plane in "$@"; do
  tries=0
  until if [ "$action" = add ]; then serves "$KUBECONFIGS/$plane.yaml"; else ! serves "$KUBECONFIGS/$plane.yaml"; fi; do
    again "$plane does not serve the new schema"
  done
done
