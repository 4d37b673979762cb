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
# The contexts of a kubeconfig, with the names that docs/install.md uses.
contexts() {
  mkdir -p "$scratch"
  for pair in HUB=hub MANAGEMENT=management PROJECT=project-a CELL=cell-dfw; do
    cp "$KUBECONFIGS/${pair#*=}.yaml" "$scratch/${pair%=*}.context"
    kubectl --kubeconfig "$scratch/${pair%=*}.context" config rename-context "${pair#*=}" "${pair%=*}" >/dev/null
  done
  export KUBECONFIG="$scratch/HUB.context:$scratch/MANAGEMENT.context:$scratch/PROJECT.context:$scratch/CELL.context"
}
case $1 in
  run)
    contexts
    cp -r "$repository/deploy" "$scratch/"
    awk '/^```$/ { block = 0 } block { print } /^```sh$/ { block = 1 }' "$repository/docs/install.md" >"$scratch/commands"
    [ "$(grep -c '^kubectl ' "$scratch/commands")" -ge 20 ]
    cd "$scratch"
    # An unset variable or a failing command is a fault of the document.
    sh -eux commands
    ;;
  undo)
    contexts
    kubectl --context MANAGEMENT -n fedhub-system delete --ignore-not-found secret fedhub-hub-kubeconfig plane-project-a
    kubectl --context MANAGEMENT -n fedhub-cells delete --ignore-not-found secret plane-project-a
    kubectl --context CELL -n fedhub-cells delete --ignore-not-found configmap fedhub-cell
    kubectl --context CELL -n fedhub-cells delete --ignore-not-found secret fedhub-hub-kubeconfig fedhub-quota-kubeconfig
    ;;
  restore)
    contexts
    kubectl --context CELL apply --server-side -k "$repository/deploy/overlays/cell"
    kubectl --context CELL delete --ignore-not-found -k "$repository/deploy/components/cell-referenced-data"
    rm -rf "$scratch"
    ;;
  as)
    file=$2
    shift 2
    kubectl --kubeconfig "$scratch/$file" "$@"
    ;;
esac
