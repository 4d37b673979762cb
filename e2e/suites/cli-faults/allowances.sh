#!/bin/sh
# Plays the quota service's sums on project-a: LIMIT instances, USED of them in use.
#
#   allowances.sh LIMIT USED
set -eu
. ../lib/wait.sh
kubectl apply --server-side -f allowances.yaml >&2
kubectl wait --for=condition=Established --timeout=60s crd/allowancebuckets.quota.miloapis.com >&2
kubectl create namespace milo-system --dry-run=client --output yaml | kubectl apply --server-side -f - >&2
bucket() {
  cat <<END
apiVersion: quota.miloapis.com/v1alpha1
kind: AllowanceBucket
metadata: {name: instances, namespace: milo-system}
$1
END
}
until bucket '
spec:
  consumerRef: {apiGroup: resourcemanager.miloapis.com, kind: Project, name: project-a}
  resourceType: compute.datumapis.com/instances' | kubectl apply --server-side -f - >&2; do again 'the plane takes no AllowanceBucket'; done
bucket "status: {limit: $1, allocated: $2, available: $(($1 - $2))}" \
  | kubectl apply --server-side --force-conflicts --subresource=status -f - >&2
