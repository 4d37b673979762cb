#!/bin/sh
# The Secret by which discovery `kubeconfigs` finds the management plane as the plane of project-c.
#
#   project-c.sh create [KUBECONFIG]   with this kubeconfig, or else fedhub's own for the plane
#   project-c.sh delete
set -eu
kubectl() { command kubectl --kubeconfig "$KUBECONFIGS/management.yaml" --namespace fedhub-system "$@"; }
if [ "$1" = delete ]; then
  kubectl delete --ignore-not-found secret plane-project-c
  exit
fi
kubectl create -f - <<END
apiVersion: v1
kind: Secret
metadata:
  name: plane-project-c
  labels: {federation.datumapis.com/plane: project}
  annotations: {federation.datumapis.com/plane-name: project-c}
data:
  kubeconfig: $(base64 -w 0 "${2:-$(dirname "$KUBECONFIGS")/fedhub/management.yaml}")
END
