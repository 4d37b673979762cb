#!/bin/sh
# Waits until a WorkloadDeployment has on a plane exactly the Instances 0 to COUNT - 1, none of them terminating, and
# the condition Ready of each is `True`, or $READY.
#
#   instances.sh PLANE NAMESPACE WD COUNT
set -eu
. "$(dirname "$0")/wait.sh"
plane=$1 namespace=$2 wd=$3 count=$4
wanted=$(seq 0 $((count - 1)) | sed "s/.*/$wd-& ${READY:-True} /" | sort)
# shellcheck disable=SC2016
format='{range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Ready")].status} {.metadata.deletionTimestamp}{"\n"}{end}'
until
  seen=$(kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" get --namespace "$namespace" instances \
    --selector "compute.datumapis.com/workload-deployment-name=$wd" --output "jsonpath=$format") \
    && seen=$(printf '%s\n' "$seen" | sort) && [ "$seen" = "$wanted" ]
do again "$plane: expected
$wanted
but there is
$seen"; done
