#!/bin/sh
# A provider for cell-dfw that runs Instances as processes of this machine, in place of the simulated one.
#
#   processes.sh start            starts it
#   processes.sh end NAMESPACE    deletes what is deployed in the namespace of project-a, and ends the provider
#   processes.sh address NAMESPACE INSTANCE   prints the address that the Instance has in project-a
set -eu
. "$(dirname "$0")/wait.sh"
command=$1
shift
case $command in
  start)
    "$E2E" fedhub stop --cell dfw --services
    "$E2E" fedhub start --cell dfw --processes
    ;;
  end)
    # Where a step failed it may be stopped, and is needed for what is deleted now.
    "$E2E" fedhub start --cell dfw --processes
    kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" delete --namespace "$1" workloaddeployments --all --timeout=90s >&2
    # Those of other suites have no command, and so nothing that runs.
    hub=ns-$(kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" get namespace "$1" --output 'jsonpath={.metadata.uid}')
    until [ -z "$(kubectl --kubeconfig "$KUBECONFIGS/cell-dfw.yaml" get --namespace "$hub" instances --output name)" ]; do
      again 'Instances are left in cell-dfw'
    done
    "$E2E" fedhub stop --cell dfw --processes
    "$E2E" fedhub start --cell dfw --services
    ;;
  address)
    until
      address=$(kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" get --namespace "$1" instance "$2" \
        --output 'jsonpath={.status.networkInterfaces[0].assignments.networkIP}')
      [ -n "$address" ]
    do again "$2 has no address in project-a"; done
    printf '%s\n' "$address"
    ;;
esac
