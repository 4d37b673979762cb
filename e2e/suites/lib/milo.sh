#!/bin/sh
# Simulates Milo: the management plane has the Projects, a gateway serves their planes, and fedhub discovers them there.
#
#   milo.sh gateway PROJECT=PLANE[/NAMESPACE]...   installs what is needed and starts the gateway
#   milo.sh fedhub start|attend FLAG...          starts fedhub
#   milo.sh fault PROJECT silent|stalled|stalled-lists|unavailable|garbage|well
#   milo.sh end                                  ends fedhub and the gateway
set -eu
here=$(dirname "$0")
. "$here/wait.sh"
scratch=$(dirname "$KUBECONFIGS")/scratch
gateway=$scratch/gateway.yaml
# Behind a Milo, the RBAC of its root decides on requests to all its planes: here each plane has the same.
rights() {
  # The suites use a service account in place of the user in the ClusterRoleBinding.
  kubectl kustomize "$here/../../../deploy/components/milo" |
    sed 's/^  name: fedhub$/  name: system:serviceaccount:fedhub-system:fedhub/' |
    kubectl --kubeconfig "$KUBECONFIGS/$1.yaml" apply --server-side -f -
}
management() { kubectl --kubeconfig "$KUBECONFIGS/management.yaml" "$@"; }
case $1 in
  gateway)
    shift
    management apply --server-side -f "$here/projects-crd.yaml"
    rights management
    for project in "$@"; do echo "$project" | sed 's/.*=//;s,/.*,,'; done | sort -u | grep -v '^management$' >"$scratch/gateway.planes" || true
    while read -r plane; do rights "$plane" </dev/null; done <"$scratch/gateway.planes"
    management apply --server-side -k "$here/../../../deploy/crds"
    management wait --for=condition=Established --timeout=60s crd --all
    # Projects of an earlier suite are removed.
    left=$(management get projects -o 'jsonpath={.items[*].metadata.name}')
    # shellcheck disable=SC2086
    [ -z "$left" ] || "$here/project.sh" gone $left
    for project in "$@"; do set -- "$@" --project "$project"; shift; done
    rm -f "$gateway"
    "$E2E" gateway --kubeconfig "$gateway" "$@" >"$(dirname "$KUBECONFIGS")/logs/gateway.log" 2>&1 </dev/null &
    echo $! >"$scratch/gateway.pid"
    until [ -e "$gateway" ]; do again "the gateway does not serve: logs/gateway.log"; done
    management create secret generic fedhub-discovery-kubeconfig --namespace fedhub-system --dry-run=client --output yaml \
      --from-file=kubeconfig="$gateway" | management apply --server-side -f -
    ;;
  fedhub)
    shift
    exec "$E2E" fedhub "$@" --component=discovery-milo
    ;;
  fault)
    if [ "$3" = well ]; then
      kubectl --kubeconfig "$gateway" delete --raw "/faults/$2"
    else
      echo "$3" | kubectl --kubeconfig "$gateway" create --raw "/faults/$2" -f -
    fi
    ;;
  end)
    "$E2E" fedhub stop
    kill "$(cat "$scratch/gateway.pid")"
    while read -r plane; do
      kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" delete --ignore-not-found \
        clusterrole/fedhub-discovery clusterrolebinding/fedhub-discovery clusterrolebinding/fedhub-milo-projects </dev/null
    done <"$scratch/gateway.planes"
    ;;
esac
