#!/bin/sh
# Waits until a WorkloadDeployment has on a plane exactly the Instances 0 to COUNT - 1, none on its way out, and `Ready`
# says the same of each: `True`, or $READY.
#
#   instances.sh PLANE NAMESPACE WD COUNT
set -eu
plane=$1 namespace=$2 wd=$3 count=$4
wanted=$(seq 0 $((count - 1)) | sed "s/.*/$wd-& ${READY:-True} /" | sort)
# shellcheck disable=SC2016
format='{range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status} {.metadata.deletionTimestamp}{"\n"}{end}'
tries=0
while :; do
  seen=$(kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" get --namespace "$namespace" instances \
    --selector "compute.datumapis.com/workload-deployment-name=$wd" --output "jsonpath=$format" | sort)
  if [ "$seen" = "$wanted" ]; then exit 0; fi
  tries=$((tries + 1))
  if [ $tries -gt 400 ]; then
    printf '%s: expected\n%s\nbut there is\n%s\n' "$plane" "$wanted" "$seen" >&2
    exit 1
  fi
  sleep 0.1
done
