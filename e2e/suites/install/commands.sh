#!/bin/sh
# The commands of docs/install.md, in a directory of their own.
#
#   commands.sh run       all of them, in their order
#   commands.sh undo      what they make and cannot make twice goes
#   commands.sh restore   the cell is as it is without its overlay
#   commands.sh as FILE COMMAND...   a command of kubectl with a kubeconfig that they made
set -eu
repository=$(cd "$(dirname "$0")/../../.." && pwd)
scratch=$(dirname "$KUBECONFIGS")/scratch/install
# An installer's contexts, by the names that docs/install.md has for them.
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
    # A variable that is not set, and a command that fails, would be the document's fault.
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
