#!/bin/sh
# The commands of docs/install.md, in a directory of their own.
#
#   commands.sh run       all of them, in their order
#   commands.sh undo      deletes what they create and cannot create twice
#   commands.sh restore   restores the cell without its overlay
#   commands.sh as FILE COMMAND...   runs a kubectl command with a kubeconfig that they created
set -eu
repository=$(cd "$(dirname "$0")/../../.." && pwd)
scratch=$(dirname "$KUBECONFIGS")/scratch/install
. "$repository/e2e/suites/lib/contexts.sh"
case $1 in
  run)
    contexts "$scratch"
    cp -r "$repository/deploy" "$scratch/"
    "$repository/e2e/suites/lib/document.sh" install.md >"$scratch/commands"
    [ "$(grep -c '^kubectl ' "$scratch/commands")" -ge 20 ]
    cd "$scratch"
    # An unset variable or a failing command is a fault of the document.
    sh -eux commands
    ;;
  undo)
    contexts "$scratch"
    kubectl --context MANAGEMENT -n fedhub-system delete --ignore-not-found secret fedhub-hub-kubeconfig plane-project-a
    kubectl --context MANAGEMENT -n fedhub-cells delete --ignore-not-found secret plane-project-a
    kubectl --context CELL -n fedhub-cells delete --ignore-not-found configmap fedhub-cell
    kubectl --context CELL -n fedhub-cells delete --ignore-not-found secret fedhub-hub-kubeconfig fedhub-quota-kubeconfig
    ;;
  restore)
    contexts "$scratch"
    kubectl --context CELL apply --server-side -k "$repository/deploy/cell"
    kubectl --context CELL delete --ignore-not-found -k "$repository/deploy/components/cell-referenced-data"
    rm -rf "$scratch"
    ;;
  as)
    file=$2
    shift 2
    kubectl --kubeconfig "$scratch/$file" "$@"
    ;;
esac
