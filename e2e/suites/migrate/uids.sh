#!/bin/sh
# Prints the UIDs of all that belongs to the WorkloadDeployment `web`, one object a line.
set -eu
list() {
  kubectl --kubeconfig "$KUBECONFIGS/$1.yaml" get --namespace "$2" "$3" \
    --output "jsonpath={range .items[*]}$1 {.kind} {.metadata.name} {.metadata.uid}{\"\n\"}{end}" | grep -v ' leaving '
}
kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" get namespace "$HUB" --output 'jsonpath=hub Namespace {.metadata.uid}{"\n"}'
list hub "$HUB" propagationpolicies
for at in "project-a $NAMESPACE" "hub $HUB" "cell-dfw $HUB"; do
  # shellcheck disable=SC2086
  set -- $at
  list "$1" "$2" workloaddeployments
  list "$1" "$2" instances
done
