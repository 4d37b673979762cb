#!/bin/sh
# Waits until WorkloadDeployments of a namespace on project-a have this image, and COUNT Instances with it that are ready.
#
#   carries.sh NAMESPACE COUNT IMAGE WD...
set -eu
here=$(dirname "$0")
. "$here/wait.sh"
namespace=$1 count=$2 image=$3
shift 3
images() { kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" get --ignore-not-found --namespace "$namespace" "$@"; }
template='{.spec.template.spec.runtime.sandbox.containers[0].image}'
each='{range .items[*]}{.spec.runtime.sandbox.containers[0].image}{"\n"}{end}'
for wd in "$@"; do
  tries=0
  until seen=$(images workloaddeployment "$wd" --output "jsonpath=$template") && [ "$seen" = "$image" ]; do
    again "$wd has the image $seen"
  done
  "$here/ready.sh" project-a "$namespace" "$wd" "$count"
  until
    seen=$(images instances --selector "compute.datumapis.com/workload-deployment-name=$wd" --output "jsonpath=$each" | sort -u)
    [ "$seen" = "$image" ]
  do again "Instances of $wd have the images $seen"; done
done
