#!/bin/sh
# Waits until the WorkloadDeployment `web` has so many Instances on every plane, all of them Ready, and the selector of
# its scale subresource finds as many there.
#
#   scaled.sh COUNT
set -eu
. ../lib/wait.sh
../lib/instances.sh cell-dfw "$HUB" web "$1"
../lib/instances.sh hub "$HUB" web "$1"
../lib/ready.sh project-a "$NAMESPACE" web "$1"
for plane in "cell-dfw $HUB" "hub $HUB" "project-a $NAMESPACE"; do
  namespace=${plane#* }
  export KUBECONFIG="$KUBECONFIGS/${plane% *}.yaml"
  tries=0
  until
    selector=$(kubectl get --namespace "$namespace" workloaddeployment web -o 'jsonpath={.status.selector}') \
      && [ "$(kubectl get --namespace "$namespace" instances --selector "$selector" -o name | wc -l)" = "$1" ]
  do again "$plane: not $1 Instances by the selector ${selector:-that is missing}"; done
done
