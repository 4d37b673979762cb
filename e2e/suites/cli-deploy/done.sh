#!/bin/sh
# Fails unless a Workload's newest generation is observed everywhere and COUNT Instances of each of its two cities run IMAGE
# right now: nothing is waited for. Then waits until fedhub is idle, and fails if it wrote to an Instance meanwhile: whoever
# said that all was done said so too early.
#
#   done.sh WORKLOAD COUNT IMAGE
set -eu
now=$("$E2E" now)
kubectl get workloads,workloaddeployments,instances --namespace "$NAMESPACE" --output json \
  | jq --exit-status --arg name "$1" --argjson count "$2" --arg image "$3" '
    def of($kind): [.items[] | select(.kind == $kind)];
    def observed: .status.observedGeneration == .metadata.generation;
    def ready: any(.status.conditions[]; .type == "Ready" and .status == "True");
    (of("Workload")[] | select(.metadata.name == $name)) as $workload
    | [of("WorkloadDeployment")[] | select(.spec.workloadRef.uid == $workload.metadata.uid)] as $deployments
    | [of("Instance")[] | select(.metadata.labels["compute.datumapis.com/workload-name"] == $name)] as $instances
    | {
        observed: ([$workload, $deployments[]] | all(observed)),
        cities: ([$deployments[].spec.cityCode] | sort),
        ready: ([$instances[] | select(.metadata.deletionTimestamp == null and ready)] | length),
        instances: ($instances | length),
        images: ([$instances[].spec.runtime.sandbox.containers[].image] | unique)
      } as $seen
    | ($seen | debug) == {observed: true, cities: ["DFW", "ORD"], ready: (2 * $count), instances: (2 * $count), images: [$image]}' >&2
"$E2E" fedhub settle
late=$("$E2E" writes --since "$now" --plane project-a --namespace "$NAMESPACE" | grep "/instances/$1-" || true)
if [ -n "$late" ]; then
  printf 'written after it was done:\n%s\n' "$late" >&2
  exit 1
fi
