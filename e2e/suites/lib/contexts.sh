# To be sourced: sets KUBECONFIG to copies of the planes' kubeconfigs in a directory, as the contexts that docs/ name.
#
#   contexts DIRECTORY
contexts() {
  mkdir -p "$1"
  for pair in HUB=hub MANAGEMENT=management PROJECT=project-a CELL=cell-dfw; do
    cp "$KUBECONFIGS/${pair#*=}.yaml" "$1/${pair%=*}.context"
    kubectl --kubeconfig "$1/${pair%=*}.context" config rename-context "${pair#*=}" "${pair%=*}" >/dev/null
  done
  export KUBECONFIG="$1/HUB.context:$1/MANAGEMENT.context:$1/PROJECT.context:$1/CELL.context"
}
