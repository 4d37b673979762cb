#!/bin/sh
# The UIDs of all that belongs to the Workload `web`, on every plane.
#
#   uids.sh save      remembers them, and the time
#   uids.sh compare   prints those that differ from what was saved: none, where fedhub adopts
set -eu
saved=$(dirname "$KUBECONFIGS")/scratch/migrate-from-go
list() {
  kubectl --kubeconfig "$KUBECONFIGS/$1.yaml" get --namespace "$2" "$3" \
    --output "jsonpath={range .items[*]}$1 {.kind} {.metadata.name} {.metadata.uid}{\"\n\"}{end}"
}
all() {
  list project-a "$NAMESPACE" workloads,workloaddeployments,instances,configmaps,secrets
  list hub "$HUB" propagationpolicies,workloaddeployments,instances,configmaps,secrets
  for cell in cell-dfw cell-ord; do
    list $cell "$HUB" workloaddeployments,instances,configmaps,secrets
  done
}
case $1 in
  save)
    mkdir -p "$saved"
    all >"$saved/uids"
    "$E2E" now >"$saved/since"
    ;;
  compare)
    all | diff "$saved/uids" - || true
    ;;
esac
