#!/bin/sh
# Runs `fedhub uninstall` on all planes, and checks what it left.
#
#   uninstall.sh run EXIT-CODE WORD FLAG...   runs it; its output has to contain WORD
#   uninstall.sh clean                        no finalizer of fedhub is left on any plane
#   uninstall.sh uids HUB                     prints the UIDs of the WDs and Instances of a namespace of cell-dfw
#   uninstall.sh explained CAUSE               waits until fedhub explain of the WD web says so
#   uninstall.sh empty HUB                    nothing of fedhub is left in a hub namespace, nor its Works
set -eu
. "$(dirname "$0")/../lib/wait.sh"
of() {
  plane=$1
  shift
  kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" "$@"
}
case $1 in
  run)
    expected=$2 word=$3
    shift 3
    code=0
    output=$("$(dirname "$E2E")/fedhub" uninstall "$@" --timeout 5s --management-kubeconfig "$KUBECONFIGS/management.yaml" \
      --hub-kubeconfig "$KUBECONFIGS/hub.yaml" --cell-kubeconfig "cell-dfw=$KUBECONFIGS/cell-dfw.yaml" \
      --cell-kubeconfig "cell-ord=$KUBECONFIGS/cell-ord.yaml" 2>&1) || code=$?
    printf '%s\n' "$output"
    [ "$code" = "$expected" ]
    printf '%s\n' "$output" | grep -qF -e "$word"
    ;;
  clean)
    for plane in project-a project-b cell-dfw cell-ord; do
      kinds=workloaddeployments,instances
      case $plane in project-*) kinds=workloads,$kinds ;; esac
      left=$(of "$plane" get --all-namespaces "$kinds" \
        -o 'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.finalizers}{"\n"}{end}')
      if printf '%s\n' "$left" | grep -F 'compute.datumapis.com/'; then exit 1; fi
    done
    ;;
  uids)
    of cell-dfw get --namespace "$2" workloaddeployments,instances \
      -o 'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid}{"\n"}{end}' | sort
    ;;
  explained)
    until
      cause=$(../lib/operator.sh explain wd web -n "$NAMESPACE" --plane project-a -o json | sed -n 's/^  "cause": "\(.*\)",*$/\1/p')
      [ "$cause" = "$2" ]
    do again "explain says $cause, not $2"; done
    ;;
  empty)
    # Karmada lets its policies and bindings go one after the other.
    until
      left=$(of hub get --namespace "$2" workloaddeployments,instances,propagationpolicies,resourcebindings --output name)
      left=$left$(of hub get --namespace "$2" configmaps,secrets --selector compute.datumapis.com/referenced-data=true --output name)
      [ -z "$left" ]
    do again "left on the hub: $left"; done
    tries=0
    until
      works=$(of hub get --namespace karmada-es-cell-dfw works -o 'jsonpath={range .items[*]}{.spec.workload.manifests}{"\n"}{end}')
      ! printf '%s\n' "$works" | grep -F "\"namespace\":\"$2\"" | grep -qF '"kind":"WorkloadDeployment"'
    do again "Works are left"; done
    ;;
esac
