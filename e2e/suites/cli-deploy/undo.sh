#!/bin/sh
# Another image and a variable, then back.
set -eu
c=../lib/compute.sh
template() { kubectl get --namespace "$NAMESPACE" workload web --output json | jq --compact-output .spec.template; }
before=$(template)
$c 0 'nginx:1.30' deploy web --image=docker.io/library/nginx:1.30 --env=COLOUR=blue --no-save
./done.sh web 1 docker.io/library/nginx:1.30
# Cities and numbers were not named, and stay.
kubectl get --namespace "$NAMESPACE" workload web --output json | jq --exit-status '
  (.spec.placements | length == 1) and (.spec.placements[0] | .cityCodes == ["DFW", "ORD"] and .scaleSettings.minReplicas == 1)' >&2
$c 0 'nginx:1.30' rollout history web
$c 0 'image' rollout undo web
./done.sh web 1 docker.io/library/nginx:1.29
test "$(template)" = "$before"
