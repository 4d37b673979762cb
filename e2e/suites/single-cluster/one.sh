#!/bin/sh
# One process with both roles, in one cluster that is management plane, project plane and cell: cell-dfw.
#
#   one.sh start    instead of the hub's fedhub and of that cell's
#   one.sh end      and they are back
set -eu
deploy=$(dirname "$0")/../../../deploy
scratch=$(dirname "$KUBECONFIGS")/scratch
own=$scratch/single-cluster.yaml
cell() { kubectl --kubeconfig "$KUBECONFIGS/cell-dfw.yaml" "$@"; }
hub() { kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" "$@"; }
case $1 in
  start)
    cell apply --server-side -k "$deploy/components/project-plane"
    cell apply --server-side -k "$deploy/components/both-roles"
    cell apply --server-side -f "$deploy/base/role.yaml"
    hub apply --server-side -k "$deploy/components/both-roles"
    token=$(cell create token fedhub --namespace fedhub-system --duration 1h)
    cp "$KUBECONFIGS/cell-dfw.yaml" "$own"
    kubectl --kubeconfig "$own" config set-credentials fedhub --token "$token"
    kubectl --kubeconfig "$own" config set-context --current --user fedhub
    "$E2E" fedhub stop --cell dfw
    "$E2E" fedhub start --with=--enable-cell-controllers --with=--discovery=single \
      --with="--management-kubeconfig=$own" --with=--cell-name=cell-dfw --with=--cell-city=DFW
    ;;
  end)
    "$E2E" fedhub restart
    "$E2E" fedhub start --cell dfw
    hub delete --ignore-not-found -k "$deploy/components/both-roles"
    cell delete --ignore-not-found -k "$deploy/components/both-roles"
    cell delete --ignore-not-found -k "$deploy/components/project-plane"
    rm -f "$own"
    ;;
esac
