#!/bin/sh
# Records the WorkloadDeployments and Instances of a project namespace from `start` on. `check` verifies that each
# WorkloadDeployment that is not deleted was always ready, and that none of its Instances was recreated.
#
#   sightings.sh start NAMESPACE
#   sightings.sh check|end
set -eu
scratch=$(dirname "$KUBECONFIGS")/scratch/sightings
watch() {
  kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" get --namespace "$2" "$1" --watch --output-watch-events \
    -o "jsonpath=$3{\"\\n\"}" >"$scratch/$1" 2>"$scratch/$1.errors" </dev/null &
  echo $! >>"$scratch/pids"
}
case $1 in
  start)
    rm -rf "$scratch"
    mkdir -p "$scratch"
    watch workloaddeployments "$2" '{.type} {.object.metadata.name} {.object.metadata.deletionTimestamp}:{.object.status.readyReplicas}'
    watch instances "$2" '{.type} {.object.metadata.name} {.object.metadata.uid}'
    . "$(dirname "$0")/../lib/wait.sh"
    for kind in workloaddeployments instances; do
      tries=0
      until [ "$(wc -l <"$scratch/$kind")" -ge 20 ]; do again "the watch of $kind does not begin"; done
    done
    ;;
  check)
    awk '$3 !~ /^20/ && $3 != ":1" { print "a status was blanked:", $0; bad = 1 } END { exit bad }' \
      "$scratch/workloaddeployments" >&2
    awk '$2 !~ /^(d0|d1|o0)-/ && ($1 == "DELETED" || seen[$2] && seen[$2] != $3) { print "a projection was lost:", $0; bad = 1 }
      { seen[$2] = $3 } END { exit bad }' "$scratch/instances" >&2
    ;;
  end)
    # shellcheck disable=SC2046
    kill $(cat "$scratch/pids") 2>/dev/null || true
    ;;
esac
