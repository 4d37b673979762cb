#!/bin/sh
# Simulates the service catalogue of a Milo: what entitles the project of a plane to the service.
#
#   entitlement.sh serve PLANE...                  serves the kind from now on
#   entitlement.sh active|suspended|revoked PLANE  sets the state of the project's entitlement, which it makes where needed
#   entitlement.sh gone PLANE                      deletes it
#   entitlement.sh unserve PLANE...                serves the kind no more
set -eu
here=$(dirname "$0")
state=$1
shift
for plane in "$@"; do
  export KUBECONFIG="$KUBECONFIGS/$plane.yaml"
  case $state in
    serve)
      kubectl apply --server-side -f "$here/entitlements-crd.yaml"
      kubectl wait --for=condition=Established --timeout=60s crd/serviceentitlements.services.miloapis.com
      ;;
    unserve)
      kubectl delete --ignore-not-found crd/serviceentitlements.services.miloapis.com --timeout=60s
      ;;
    gone)
      kubectl delete serviceentitlement compute
      ;;
    *)
      phase=Active suspended=False
      [ "$state" != suspended ] || suspended=True
      [ "$state" != revoked ] || phase=Rejected
      # A server that has just learnt of the kind may not know it yet.
      for attempt in 1 2 3 4 5; do
        kubectl apply --server-side -f - <<END && break || sleep "$attempt"
apiVersion: services.miloapis.com/v1alpha1
kind: ServiceEntitlement
metadata: {name: compute}
spec: {serviceRef: {name: compute}}
END
      done
      kubectl apply --server-side --subresource=status -f - <<END
apiVersion: services.miloapis.com/v1alpha1
kind: ServiceEntitlement
metadata: {name: compute}
status:
  phase: $phase
  serviceName: compute.datumapis.com
  entitledAt: "2026-01-02T03:04:05Z"
  conditions:
  - {type: Suspended, status: "$suspended", reason: Played, message: said by a suite, lastTransitionTime: "2026-01-02T03:04:05Z"}
END
      ;;
  esac
done
