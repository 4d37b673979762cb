#!/bin/sh
# The location that the cell in DFW serves is dfw-1, in that city.
#
#   location.sh CITY
set -eu
kubectl --kubeconfig "$KUBECONFIGS/cell-dfw.yaml" apply --server-side -f - <<END
apiVersion: networking.datumapis.com/v1alpha
kind: LocationBinding
metadata: {name: here}
spec:
  locationRef: {name: dfw-1}
  topology: {topology.datum.net/city-code: $1}
END
