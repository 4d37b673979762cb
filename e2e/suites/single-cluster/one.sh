#!/bin/sh
# One process with both roles, in one cluster that is management plane, project plane and cell: cell-dfw.
#
#   one.sh start    instead of the hub's fedhub and of that cell's
#   one.sh end      restores those two
set -eu
deploy=$(dirname "$0")/../../../deploy
# The kubeconfigs of the management role, which the harness uses in place of the service account of its Pod.
roles=$(dirname "$KUBECONFIGS")/fedhub
cell() { kubectl --kubeconfig "$KUBECONFIGS/cell-dfw.yaml" "$@"; }
hub() { kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" "$@"; }
case $1 in
  start)
    cell apply --server-side -k "$deploy/overlays/single-cluster"
    hub apply --server-side -k "$deploy/components/both-roles"
    cell create secret generic fedhub-hub-kubeconfig --namespace fedhub-system --from-file=kubeconfig="$roles/hub.yaml"
    KUBECONFIG=$KUBECONFIGS/cell-dfw.yaml "$deploy/kubeconfig.sh" cell-dfw fedhub-system fedhub 1h >"$roles/cell-dfw.yaml"
    "$E2E" fedhub stop --cell dfw
    "$E2E" fedhub start --component=single-cluster --plane=cell-dfw
    ;;
  end)
    "$E2E" fedhub restart
    "$E2E" fedhub start --cell dfw
    hub delete --ignore-not-found -k "$deploy/components/both-roles"
    cell delete --ignore-not-found -k "$deploy/components/both-roles"
    cell delete --ignore-not-found -k "$deploy/base"
    cell delete --ignore-not-found -k "$deploy/components/project-plane"
    rm -f "$roles/cell-dfw.yaml"
    ;;
esac
