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
mint() { "$(dirname "$E2E")/fedhub" kubeconfig mint --duration 1h "$@"; }
case $1 in
  start)
    cell apply --server-side -k "$deploy/overlays/single-cluster"
    hub apply --server-side -k "$deploy/components/both-roles"
    mint --for hub --hub-kubeconfig "$KUBECONFIGS/hub.yaml" --management-kubeconfig "$KUBECONFIGS/cell-dfw.yaml"
    mint --for project --project-kubeconfig "single=$KUBECONFIGS/cell-dfw.yaml" --print >"$roles/cell-dfw.yaml"
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
