#!/bin/sh
# Checks what holds for any provider (docs/providers.md), by a WorkloadDeployment `web` in a namespace of project-a, whose
# Instance runs in cell-dfw.
#
#   conforms.sh NAMESPACE RESTART SERVERS
#
# RESTART is a command that restarts the provider. SERVERS prints a line for each server that runs, the same one for as long
# as it is the same server. STARTS is the file that commands of processes write their PIDs into.
set -eu
here=$(dirname "$0")
. "$here/wait.sh"
namespace=$1 restart=$2 servers=$3
hub=ns-$(kubectl get namespace "$namespace" --output 'jsonpath={.metadata.uid}')
instance() {
  kubectl --kubeconfig "$KUBECONFIGS/cell-dfw.yaml" get --namespace "$hub" instance web-0 --output json
}
# Waits until so many servers run, and prints them.
running() {
  tries=0
  until
    seen=$(eval "$servers")
    [ "$(printf '%s' "$seen" | grep --count .)" = "$1" ]
  do again "servers: expected $1, and there is: $seen"; done
  printf '%s\n' "$seen"
}
deploy() {
  "$here/server.sh" "$STARTS" "$1" | kubectl apply --namespace "$namespace" --filename - >&2
  "$here/ready.sh" project-a "$namespace" web 1
}

echo 'V1, V6: an Instance gets one server, and says so' >&2
deploy first
first=$(running 1)
instance | jq --exit-status '
  def said(type): .status.conditions[] | select(.type == type).status;
  said("Programmed") == "True" and said("Available") == "True"
  and .status.controller.observedTemplateHash == .spec.controller.templateHash
  and (.status.networkInterfaces[0].assignments.networkIP | length > 0)' >&2

echo 'V1, V8: a restart of the provider makes no second one, and writes nothing' >&2
version=$(instance | jq --raw-output .metadata.resourceVersion)
eval "$restart" >&2
"$E2E" fedhub settle
[ "$(running 1)" = "$first" ]
[ "$(instance | jq --raw-output .metadata.resourceVersion)" = "$version" ]

echo 'V9: a suspended Instance has no server that runs' >&2
kubectl annotate --namespace "$namespace" workloaddeployment web compute.datumapis.com/suspended=true >&2
running 0 >&2
READY=False "$here/instances.sh" project-a "$namespace" web 1
kubectl annotate --namespace "$namespace" workloaddeployment web compute.datumapis.com/suspended- >&2
"$here/instances.sh" project-a "$namespace" web 1
before=$(running 1)

echo 'another template is another server' >&2
deploy second
[ "$(running 1)" != "$before" ]

echo 'V4: nothing is left of what is deleted' >&2
kubectl delete --namespace "$namespace" workloaddeployment web --timeout=90s >&2
"$here/gone.sh" project-a "$namespace" web
running 0 >&2
