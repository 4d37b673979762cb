#!/bin/sh
# Waits for a stage of the teardown of project-a. $HUB is its hub namespace.
#
#   state.sh first               a WorkloadDeployment has left the hub
#   state.sh copies              the hub has no Instance of the project
#   state.sh empty               nothing of the project is on the hub, in the cell, in quota; no projection is left
#   state.sh free                no finalizer of fedhub's is left in the project
#   state.sh other|ours before   remembers the objects of the other project, or of this one, on the hub and in the cell
#   state.sh other|ours after    compares
set -eu
. "$(dirname "$0")/../lib/wait.sh"
on() { plane=$1; shift; kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" "$@"; }
all() {
  on hub get --namespace "$HUB" --output name workloaddeployments,instances,propagationpolicies
  on hub get --namespace "$HUB" --output name configmaps,secrets --selector compute.datumapis.com/referenced-data=true
  on cell-dfw get --namespace "$HUB" --output name --ignore-not-found workloaddeployments,instances
  on project-a get --namespace "$NAMESPACE" --output name resourceclaims.quota.miloapis.com,instances
}
uids() {
  if [ "$1" = ours ]; then cell=cell-dfw space=$HUB; else
    cell=cell-ord space=ns-$(on management get namespace "$NAMESPACE" --output 'jsonpath={.metadata.uid}')
  fi
  for plane in hub "$cell"; do
    on "$plane" get --namespace "$space" --output 'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid}{"\n"}{end}' \
      workloaddeployments,instances | sort
  done
}
memory=$(dirname "$KUBECONFIGS")/scratch/$NAMESPACE.$1
case $1 in
  first)
    count() { on hub get --namespace "$HUB" workloaddeployments --output name | wc -l; }
    until [ "$(count)" -lt 2 ]; do again "no WorkloadDeployment has left the hub"; done
    ;;
  copies)
    until [ -z "$(on hub get --namespace "$HUB" instances --output name)" ]; do
      # What the killed process had not deleted yet stays.
      [ -z "$(on hub get --namespace "$HUB" workloaddeployments --output name)" ] || exit 0
      again "the hub still has Instances"
    done
    ;;
  empty)
    # After a kill, projections without their Instance go with live reads, a minute apart.
    for _ in $(seq 300); do
      left=$(all)
      [ -n "$left" ] || exit 0
      sleep 0.5
    done
    echo "still there: $left" >&2
    exit 1
    ;;
  free)
    held() {
      on project-a get --namespace "$NAMESPACE" workloads,workloaddeployments \
        --output 'jsonpath={range .items[*]}{.metadata.name} {.metadata.finalizers}{"\n"}{end}' | grep compute.datumapis.com || true
    }
    until left=$(held) && [ -z "$left" ]; do again "still held: $left"; done
    [ "$(on project-a get --namespace "$NAMESPACE" workloads,workloaddeployments --output name | wc -l)" = 3 ]
    ;;
  other | ours)
    if [ "$2" = before ]; then uids "$1" >"$memory"; else uids "$1" | diff "$memory" - >&2; fi
    ;;
esac
