#!/bin/sh
# Makes planes and hub differ while fedhub does not run, each in one way.
set -eu
hub() { kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" --namespace "$HUB" "$@"; }
own() { kubectl --namespace "$NAMESPACE" "$@"; }
# An orphan: the finalizer is removed by force.
own patch workloaddeployment gone --type=merge --patch '{"metadata":{"finalizers":null}}'
own delete workloaddeployment gone
own wait --for=delete instance/gone-0 --timeout=60s
# Garbage collection would remove what has a dangling owner.
"$E2E" process stop kube-controller-manager-project-a
# Drift: the hub WorkloadDeployment is edited.
hub annotate --overwrite workloaddeployment drift federation.datumapis.com/source-generation=99
# A wrong city: its WorkloadDeployment has moved, and the hub does not know.
own patch workloaddeployment moves --type=merge --patch '{"spec":{"cityCode":"ORD"}}'
# Owners: one projection without, and one whose owner is another object.
own patch instance web-0 --type=merge --patch '{"metadata":{"ownerReferences":null}}'
own patch instance web-1 --type=json \
  --patch '[{"op":"replace","path":"/metadata/ownerReferences/0/uid","value":"33333333-0000-4000-8000-000000000000"}]'
# A leftover: a projection whose Instance the hub does not have.
own get instance web-2 -o json | sed -e '/"uid": .*,$/!b' -e '/ownerReferences/b' | awk '
  /"resourceVersion":|"creationTimestamp":/ { next } { print }' \
  | sed -e 's/"name": "web-2"/"name": "web-9"/' | own create -f -
# And a WorkloadDeployment that was never federated.
"$(dirname "$0")/../lib/siblings.sh" DFW late
