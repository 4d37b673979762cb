#!/bin/sh
# Runs the cluster of ORD under the name of the cell of DFW.
#
#   namesake.sh start HUB_NAMESPACE   with the same WorkloadDeployment as the cell of DFW
#   namesake.sh end HUB_NAMESPACE
#   namesake.sh readyz                prints its readiness
#   namesake.sh states HUB_NAMESPACE before|after
#   namesake.sh same                  fails unless both states are the same
set -eu
scratch=$(dirname "$KUBECONFIGS")/scratch/cell-name-taken
ord() { kubectl --kubeconfig "$KUBECONFIGS/cell-ord.yaml" "$@"; }
case $1 in
  start)
    "$E2E" fedhub stop --cell ord
    . "$(dirname "$0")/../lib/wait.sh"
    until ord get namespace "$2" >/dev/null 2>&1; do again "Karmada has not brought namespace $2 to cell-ord"; done
    sed -e '/^#/d' -e 's/(\$wd)/web/' -e 's/(\$city)/DFW/' -e 's/(to_number(\$replicas))/1/' \
      "$(dirname "$0")/../lib/replicated.yaml" | ord create --namespace "$2" -f -
    "$E2E" fedhub attend --cell ord --component=cell-quota --with=--cell-name=cell-dfw --with=--cell-city=DFW \
      </dev/null >/dev/null 2>&1 &
    ;;
  end)
    ord delete --ignore-not-found --namespace "$2" workloaddeployment web --timeout=60s || true
    "$E2E" fedhub stop --cell ord
    # What it claimed under the other's name for what earlier suites left in it would refuse the other for good.
    mark="cell-dfw/$(ord get namespace kube-system -o 'jsonpath={.metadata.uid}')/"
    for plane in project-a project-b; do
      project() { kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" "$@"; }
      project get --all-namespaces resourceclaims.quota.miloapis.com -o json | jq -r --arg mark "$mark" '
        .items[] | select((.metadata.annotations["federation.datumapis.com/cell-source"] // "") | startswith($mark)) |
        "\(.metadata.namespace) \(.metadata.name)"' |
        while read -r namespace claim; do
          project delete --namespace "$namespace" resourceclaims.quota.miloapis.com "$claim" </dev/null
        done
    done
    rm -rf "$scratch"
    ;;
  readyz)
    bound=$(grep -F 'fedhub starts' "$(dirname "$FEDHUB_LOG")/fedhub-cell-ord.log" | tail -n 1 | sed 's/.*bound=\([0-9.:]*\).*/\1/')
    [ -n "$bound" ] && curl --silent "http://$bound/readyz"
    ;;
  states)
    mkdir -p "$scratch"
    {
      kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" get --namespace "$2" instances -o json
      kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" get --namespace "$NAMESPACE" resourceclaims.quota.miloapis.com -o json
    } >"$scratch/$3"
    ;;
  same) diff "$scratch/before" "$scratch/after" ;;
esac
