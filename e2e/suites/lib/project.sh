#!/bin/sh
# Simulates Milo: creates Projects where needed and sets their condition Ready, or deletes them.
#
#   project.sh True|False|Unknown|gone NAME...
#
# $SUSPENDED: the status of their condition Suspended.
set -eu
export KUBECONFIG=$KUBECONFIGS/management.yaml
state=$1
shift
if [ "$state" = gone ]; then
  kubectl delete project "$@" --wait=false
  kubectl patch project "$@" --type=merge --patch '{"metadata":{"finalizers":null}}'
  exit
fi
for name in "$@"; do
  cat <<END
---
apiVersion: resourcemanager.miloapis.com/v1alpha1
kind: Project
metadata:
  name: $name
  finalizers: [example.com/milo]
spec:
  ownerRef: {kind: Organization, name: somebody}
END
done | kubectl apply --server-side -f -
for name in "$@"; do
  cat <<END
---
apiVersion: resourcemanager.miloapis.com/v1alpha1
kind: Project
metadata: {name: $name}
status:
  conditions:
  - {type: Ready, status: "$state", reason: Played, message: said by a suite, lastTransitionTime: "2026-01-02T03:04:05Z"}
END
  [ -z "${SUSPENDED-}" ] || cat <<END
  - {type: Suspended, status: "$SUSPENDED", reason: Played, message: said by a suite, lastTransitionTime: "2026-01-02T03:04:05Z"}
END
done | kubectl apply --server-side --subresource=status -f -
