#!/bin/sh
# Waits until every Workload and WorkloadDeployment of the suite's namespace is Ready, with its Instances in the cell of its
# city and in the project, and compares the WorkloadDeployments with the placements of the Workloads.
set -eu
. ../lib/wait.sh
# shellcheck disable=SC2016
placements='{{range .items}}{{$of := .metadata.name}}{{range .spec.placements}}{{$at := .name}}{{$count := .scaleSettings.minReplicas}}{{range .cityCodes}}{{$of}}-{{$at}}-{{.}} {{.}} {{$count}}{{"\n"}}{{end}}{{end}}{{end}}'
wanted=$(kubectl get --namespace "$NAMESPACE" workloads --output "go-template=$placements" | tr '[:upper:]' '[:lower:]')
# The sample that is no Workload.
wanted=$(printf '%s\nweb dfw 1\n' "$wanted")
[ "$(printf '%s\n' "$wanted" | wc -l)" -ge 7 ]
printf '%s\n' "$wanted" | while read -r wd city count; do
  ../lib/ready.sh project-a "$NAMESPACE" "$wd" "$count"
  ../lib/instances.sh "cell-$city" "$HUB" "$wd" "$count"
done
seen=$(kubectl get --namespace "$NAMESPACE" workloaddeployments --output name | sed 's,.*/,,' | sort)
[ "$seen" = "$(printf '%s\n' "$wanted" | cut -d ' ' -f 1 | sort)" ] || { echo "WorkloadDeployments: $seen" >&2; exit 1; }
kubectl wait --namespace "$NAMESPACE" workloads --all --for=condition=Available --timeout=40s
kubectl get --namespace "$NAMESPACE" workloads,workloaddeployments
