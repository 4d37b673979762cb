#!/bin/sh
# Gives a cell its identity on the hub: a ServiceAccount of its own, and the entry by which the hub's policies know it.
#
#   cell-identity.sh HUB CELL NAME CITY
#
# HUB and CELL are contexts of yours, NAME is the cell's Cluster on the hub, and CITY the city code of that. Run it again
# where the cell was rebuilt or serves another city: it replaces the entry.
set -eu
if [ $# -ne 4 ]; then
  sed -n 's/^#   //p' "$0" >&2
  exit 2
fi
uid=$(kubectl --context "$2" get namespace kube-system -o 'jsonpath={.metadata.uid}')
kubectl --context "$1" apply --server-side -f - <<END
apiVersion: v1
kind: ServiceAccount
metadata:
  name: $3
  namespace: fedhub-cells
END
kubectl --context "$1" --namespace fedhub-cells patch configmap fedhub-cells --type=merge \
  --patch "{\"data\":{\"$3\":\"$4/$uid\"}}"
