#!/bin/sh
# Waits until everything of change.sh has arrived, and web has so many Instances; then deletes what is new.
#
#   arrived.sh COUNT
set -eu
here=$(dirname "$0")
. "$here/../lib/wait.sh"
"$here/../lib/ready.sh" project-a "$NAMESPACE" web "$1"
"$here/../lib/ready.sh" project-a "$NAMESPACE" late 1
"$here/../lib/gone.sh" project-a "$NAMESPACE" leaves
"$here/../lib/gone.sh" hub "$HUB" leaves
mark() {
  kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" get --namespace "$HUB" workloaddeployment web \
    -o 'jsonpath={.metadata.annotations.federation\.datumapis\.com/source-generation}'
}
until [ "$(mark)" != 99 ]; do again "the hub WorkloadDeployment was not repaired"; done
kubectl delete --namespace "$NAMESPACE" workloaddeployment late --timeout=60s
