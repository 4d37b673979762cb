#!/bin/sh
# What the identity of a cell may do on the hub: that of cell-dfw, by its own kubeconfig.
#
#   fenced.sh refused WORDS COMMAND...   waits until a kubectl command is refused with these words
#   fenced.sh copy NAME SOURCE CITY      prints an Instance with that mark and city, to be created
#   fenced.sh state HUB_NAMESPACE NAME   prints a copy as it is on the hub
#   fenced.sh audited VERB RESOURCE URI  fails unless the hub's audit log has such a request of cell-dfw, answered 403
#
# $CELL: the name of another ServiceAccount to act as, by impersonation.
set -eu
cell() {
  if [ -z "${CELL:-}" ]; then
    kubectl --kubeconfig "$CELLS/hub-cell-dfw.yaml" "$@"
  else
    kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" --as "system:serviceaccount:fedhub-cells:$CELL" \
      --as-group system:serviceaccounts:fedhub-cells --as-group system:authenticated "$@"
  fi
}
case $1 in
  refused)
    . "$(dirname "$0")/../lib/refused.sh"
    shift
    refused cell "$@"
    ;;
  copy)
    mark=
    [ "$3" = none ] || mark="
  annotations: {federation.datumapis.com/cell-source: $3}"
    cat <<END
apiVersion: compute.datumapis.com/v1alpha
kind: Instance
metadata:
  name: $2
  labels: {compute.datumapis.com/city-code: $4}$mark
spec:
  runtime:
    resources: {instanceType: datumcloud/d1-standard-2}
    sandbox: {containers: [{name: app, image: docker.io/library/nginx:1.29}]}
  networkInterfaces: [{network: {name: default}}]
END
    ;;
  state)
    kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" get --namespace "$2" instance "$3" \
      -o 'jsonpath={.metadata.uid}/{.metadata.resourceVersion}'
    ;;
  audited)
    grep -F '"username":"system:serviceaccount:fedhub-cells:cell-dfw"' "$(dirname "$KUBECONFIGS")/audit/hub.log" |
      grep -F "\"verb\":\"$2\"" | grep -F "\"resource\":\"$3\"" | grep -F "$4" | grep -qF '"code":403' || {
      echo "the audit log has no 403 of cell-dfw for: $2 $3 $4" >&2
      exit 1
    }
    ;;
esac
