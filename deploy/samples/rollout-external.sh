#!/usr/bin/env bash
# Rolls the newest template of a Workload out over its cities in place of fedhub: one deployment after the other, in the
# order of the placements, each once the one before is healthy. Its WorkloadRollout has the strategy External.
#
#   rollout-external.sh WORKLOAD [KUBECTL-FLAG...]
#
# DEADLINE is how long one deployment may take, in seconds (600). Needs kubectl and jq.
# Exit codes: 0 all are healthy on the revision; 1 one is not, and those after it were not touched; 2 usage.
set -euo pipefail

if [[ $# -eq 0 || $1 == -* ]]; then
  sed -n 's/^#   /usage: /p' "$0" >&2
  exit 2
fi
workload=$1
flags=("${@:2}")
deadline=${DEADLINE:-600}
# Reasons that waiting does not change.
stuck='^(ImageUnavailable|InstanceCrashing|Failed|ConfigurationError|Quota.*|Source.*|Instance.*(Refused|Unavailable))$'

kube() { kubectl "$@" ${flags[@]+"${flags[@]}"}; }
fail() { echo "$1" >&2; exit 1; }

# Prints `healthy`, `waiting` or why a deployment is stuck. What it said of another generation does not count.
judge() {
  kube get "$1" --output json | jq --raw-output --arg revision "$revision" --arg stuck "$stuck" '
    .status as $now
    | (.metadata.annotations["compute.datumapis.com/revision"] // "" | split("/")[0]) as $carried
    | [$now.conditions[]? | select(.status == "False" and (.reason | test($stuck))) | "\(.reason): \(.message)"] as $causes
    | if $carried != $revision or $now.observedGeneration != .metadata.generation then "waiting"
      elif $now.suspended or ([$now.updatedReplicas, $now.readyReplicas + ($now.stoppedReplicas // 0)] | all(. == $now.desiredReplicas)) then "healthy"
      else $causes[0] // "waiting" end'
}

# The template is a revision once fedhub has recorded it.
until object=$(kube get workload "$workload" --output json) &&
  jq --exit-status '.status.observedGeneration == .metadata.generation' <<<"$object" >/dev/null; do
  ((SECONDS < deadline)) || fail "$workload: fedhub has not recorded the template"
  sleep 2
done
revision=$(jq --raw-output '.metadata.annotations["compute.datumapis.com/current-revision"]' <<<"$object")
for placement in $(jq --raw-output '.spec.placements[] | .name + "/" + (.cityCodes // [])[]' <<<"$object"); do
  labels="compute.datumapis.com/workload-name=$workload,compute.datumapis.com/placement-name=${placement%/*}"
  name=$(kube get workloaddeployments --selector "$labels,compute.datumapis.com/city-code=${placement#*/}" --output name)
  [[ -n $name ]] || fail "$placement: there is no deployment"
  kube annotate --overwrite "$name" "compute.datumapis.com/assigned-revision=$revision"
  end=$((SECONDS + deadline)) times=0
  until state=$(judge "$name") && [[ $state == healthy ]]; do
    # What is stuck for ten seconds is no report that is about to be replaced.
    if [[ ${state:-waiting} == waiting ]]; then times=0; else times=$((times + 1)); fi
    ((times < 5 && SECONDS < end)) || fail "$name: ${state:-no answer}"
    sleep 2
  done
  echo "$name: healthy on revision $revision"
done
