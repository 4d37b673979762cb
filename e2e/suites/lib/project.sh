#!/bin/sh
# Milo, played: a Project is made if need be, and its condition Ready is set, or it is deleted and gone.
#
#   project.sh NAME True|False|Unknown|gone
set -eu
export KUBECONFIG=$KUBECONFIGS/management.yaml
if [ "$2" = gone ]; then
  kubectl delete project "$1" --wait=false
  kubectl patch project "$1" --type=merge --patch '{"metadata":{"finalizers":null}}'
  exit
fi
kubectl apply --server-side -f - <<END
apiVersion: resourcemanager.miloapis.com/v1alpha1
kind: Project
metadata:
  name: $1
  finalizers: [example.com/milo]
spec:
  ownerRef: {kind: Organization, name: somebody}
END
kubectl patch project "$1" --subresource=status --type=merge --patch '{"status":{"conditions":[
  {"type":"Ready","status":"'"$2"'","reason":"Played","message":"said by a suite",
   "lastTransitionTime":"2026-01-02T03:04:05Z"}]}}'
