#!/bin/sh
# Waits until a WorkloadDeployment and all its Instances are gone on a plane.
#
#   gone.sh PLANE NAMESPACE WD
set -eu
. "$(dirname "$0")/wait.sh"
until
  all=$(kubectl --kubeconfig "$KUBECONFIGS/$1.yaml" get --namespace "$2" workloaddeployments,instances --output name) \
    && ! left=$(printf '%s\n' "$all" | grep -e "/$3\$" -e "/$3-[0-9]*\$")
do again "$1 still has
${left:-what it does not tell}"; done
