#!/bin/sh
# Sets the location that the cell in DFW serves, dfw-1 by default, and its city.
#
#   location.sh CITY [LOCATION]
set -eu
kubectl --kubeconfig "$KUBECONFIGS/cell-dfw.yaml" apply --server-side -f - <<END
apiVersion: networking.datumapis.com/v1alpha
kind: LocationBinding
metadata: {name: here}
spec:
  locationRef: {name: ${2:-dfw-1}}
  topology: {topology.datum.net/city-code: $1}
END
