#!/bin/sh
# The UIDs of all that belongs to the WorkloadDeployment `web`, on every plane.
#
#   uids.sh save      remembers them, and the time
#   uids.sh compare   prints those that differ from what was saved: none, where fedhub adopts
set -eu
saved=$(dirname "$KUBECONFIGS")/scratch/migrate
list() {
  kubectl --kubeconfig "$KUBECONFIGS/$1.yaml" get ${2:+--namespace "$2"} "$3" \
    --output "jsonpath={range .items[*]}$1 {.kind} {.metadata.name} {.metadata.uid}{\"\n\"}{end}"
}
all() {
  list hub '' namespaces | grep " $HUB "
  list hub "$HUB" propagationpolicies
  for at in "project-a $NAMESPACE" "hub $HUB" "cell-dfw $HUB"; do
    list "${at% *}" "${at#* }" workloaddeployments | grep -v ' leaving '
    list "${at% *}" "${at#* }" instances
  done
}
case $1 in
  save)
    all >"$saved/uids"
    "$E2E" now >"$saved/since"
    ;;
  compare)
    all | diff "$saved/uids" - || true
    ;;
esac
