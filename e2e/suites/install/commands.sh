#!/bin/sh
# The commands of docs/install.md, in a directory of their own.
#
#   commands.sh run       all of them, in their order
#   commands.sh rotate    renews the kubeconfigs that they created
#   commands.sh undo      deletes what they create and cannot create twice
#   commands.sh restore   restores the cell without its overlay
#   commands.sh as FILE COMMAND...   runs a kubectl command with a kubeconfig that they created
set -eu
. "$(dirname "$0")/../lib/wait.sh"
repository=$(cd "$(dirname "$0")/../../.." && pwd)
scratch=$(dirname "$KUBECONFIGS")/scratch/install
. "$repository/e2e/suites/lib/contexts.sh"
# The program of the documents' commands.
PATH=$(dirname "$E2E"):$PATH
save() {
  kubectl --context "$1" -n "$2" get secret "$3" -o 'jsonpath={.data.kubeconfig}' | base64 -d >"$scratch/$4"
}
case $1 in
  run)
    contexts "$scratch"
    cp -r "$repository/deploy" "$scratch/"
    "$repository/e2e/suites/lib/document.sh" install.md >"$scratch/commands"
    [ "$(grep -cE '^(kubectl|fedhub) ' "$scratch/commands")" -ge 15 ]
    cd "$scratch"
    # As karmadactl does when it joins a cell.
    uid=$(kubectl --context CELL get namespace kube-system -o 'jsonpath={.metadata.uid}')
    kubectl --context HUB patch cluster cell-dfw --type=merge -p "{\"spec\":{\"id\":\"$uid\"}}"
    # An unset variable or a failing command is a fault of the document. That other suites left WDs in cities without a
    # cell is a warning of `fedhub check`, which then exits with 4.
    printf '%s\n' 'fedhub() { command fedhub "$@" || { code=$?; [ "$1 $code" = "check 4" ]; }; }' |
      cat - commands >tolerant
    sh -eux tolerant
    # What fedhub is to read, as files for the processes that run in place of Pods.
    save MANAGEMENT fedhub-system fedhub-hub-kubeconfig hub.yaml
    save MANAGEMENT fedhub-system plane-project-a project-a.yaml
    save MANAGEMENT fedhub-cells plane-project-a project-a-for-cells.yaml
    save CELL fedhub-cells fedhub-hub-kubeconfig hub-for-cell-dfw.yaml
    save CELL fedhub-cells fedhub-quota-kubeconfig management-for-cells.yaml
    ;;
  rotate)
    contexts "$scratch"
    for context in HUB PROJECT; do
      kubectl --context "$context" apply --server-side -k "$repository/deploy/components/own-token"
    done
    rotate() { fedhub kubeconfig rotate --for hub,project --management-context MANAGEMENT --json "$@" >"$scratch/rotated"; }
    # Nothing is due yet.
    rotate --plane project-a
    [ "$(grep -c '"result": "kept"' "$scratch/rotated")" = 2 ]
    until rotate --plane project-a --all; do again "$(cat "$scratch/rotated")"; done
    [ "$(grep -c '"result": "replaced"' "$scratch/rotated")" = 2 ]
    fedhub kubeconfig rotate --for cell,quota --cell-name cell-dfw --all --hub-context HUB --management-context MANAGEMENT --cell-context CELL
    for context in HUB PROJECT; do
      kubectl --context "$context" delete -k "$repository/deploy/components/own-token"
    done
    save MANAGEMENT fedhub-system fedhub-hub-kubeconfig renewed.yaml
    if cmp -s "$scratch/hub.yaml" "$scratch/renewed.yaml"; then exit 1; fi
    cp "$scratch/renewed.yaml" "$scratch/hub.yaml"
    ;;
  undo)
    contexts "$scratch"
    kubectl --context MANAGEMENT -n fedhub-system delete --ignore-not-found secret fedhub-hub-kubeconfig plane-project-a
    kubectl --context MANAGEMENT -n fedhub-cells delete --ignore-not-found secret plane-project-a
    kubectl --context CELL -n fedhub-cells delete --ignore-not-found secret fedhub-hub-kubeconfig fedhub-quota-kubeconfig
    ;;
  restore)
    contexts "$scratch"
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
