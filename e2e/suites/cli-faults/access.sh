#!/bin/sh
# Each state of access of a project by its exit code, from nothing asked for to active. The platform's part is played.
set -eu
. ../lib/wait.sh
c=../lib/compute.sh
platform() { kubectl --kubeconfig "$KUBECONFIGS/management.yaml" "$@" >&2; }
answer() {
  platform apply --server-side --force-conflicts --subresource=status -f - <<END
apiVersion: services.miloapis.com/v1alpha1
kind: ServiceEntitlement
metadata: {name: $name}
status:
  phase: $1
  serviceName: compute.datumapis.com
  $3
  conditions:
  - {type: Ready, status: "$4", reason: $2, message: said by a suite, lastTransitionTime: "2026-01-02T03:04:05Z"}
END
}
platform apply --server-side -f ../lib/entitlements-crd.yaml -f catalogue.yaml
platform wait --for=condition=Established --timeout=60s \
  crd/serviceentitlements.services.miloapis.com crd/services.services.miloapis.com
until platform apply --server-side -f service.yaml; do again 'the catalogue takes no Service'; done
$c 0 'not enabled|not requested|not been' access
# The provider has to approve it, and nobody is there to be asked whether to ask.
$c 10 'access request' workloads
# The platform answers meanwhile. To ask again is progress, and no error.
$c 0 'approv' access request &
asks=$!
until name=$(kubectl --kubeconfig "$KUBECONFIGS/management.yaml" get serviceentitlements --output 'jsonpath={.items[*].metadata.name}') \
  && [ -n "$name" ]; do again 'nothing was asked for'; done
answer PendingApproval EntitlementPendingApproval '' False
wait "$asks"
$c 0 'approv' access request
$c 12 'approv' workloads
answer Rejected EntitlementRejected '' False
$c 11 'denied' workloads
answer Active EntitlementActive 'entitledAt: "2026-01-02T03:04:05Z"' True
$c 0 'active|enabled|Active' access
$c 0 '"state": *"Active"' access -o json
# It may be used, and this plane does not serve it.
$c 13 'does not offer' workloads -n "$NAMESPACE"
