#!/bin/sh
# A simulated region service for cell-dfw, and a fedhub there that runs Instances as its servers, in place of the simulated
# provider.
#
# Only Instances on the network `region` have servers there: those that earlier suites left have none.
#
#   region.sh start               starts both
#   region.sh deploy NAMESPACE COUNT   creates the WorkloadDeployment `web` in project-a, or scales it
#   region.sh end NAMESPACE       deletes what is deployed in the namespace of project-a, ends both, and fails where the
#                                 region was asked for something that no provider may ask for, or where anything is left
#   region.sh ask METHOD PATH [BODY]   asks the region's control interface
#   region.sh servers             prints the servers as a JSON array, those that are being deleted as well
#   region.sh await FILTER        waits until the filter of jq holds for that array
#   region.sh said NAMESPACE INSTANCE TYPE STATUS REASON   waits until the condition of the Instance in project-a says so
set -eu
here=$(dirname "$0")
. "$here/wait.sh"
export KUBECONFIG="$KUBECONFIGS/cell-dfw.yaml"
directory=$(dirname "$KUBECONFIGS")/scratch/provider/cell-dfw
ask() {
  url=$("$E2E" fedhub url --cell dfw --region)/_control$2
  curl --silent --show-error --fail-with-body --max-time 10 --request "$1" ${3:+--header 'content-type: application/json' --data "$3"} "$url"
}
command=$1
shift
case $command in
  start)
    "$E2E" fedhub start --cell dfw --region
    url=$("$E2E" fedhub url --cell dfw --region)
    mkdir -p "$directory"
    printf a-secret-of-tests >"$directory/client-secret"
    # Its lists lag behind by two seconds at most.
    cat >"$directory/config.yaml" <<END
settle: 4s
regions:
- name: dfw
  url: $url
  identityUrl: $url
  insecureLoopback: true
  organizationId: d0000000-0000-4000-8000-000000000001
  regionId: c7b0a3a1-4a11-4c6e-8f5a-0c1d2e3f4a5b
  auth:
    clientCredentials:
      tokenUrl: $url/oauth2/v2/token
      clientId: fedhub
      clientSecretFile: client-secret
  projects:
    project-a:
      projectId: e0000000-0000-4000-8000-000000000001
      networks:
        region: a3c5e7f1-0000-4000-8000-000000000001
  instanceTypes:
    datumcloud/d1-standard-2: f1a0e000-0000-4000-8000-000000000001
  images:
    ubuntu-24.04: e1a0e000-0000-4000-8000-000000000001
    ubuntu-24.10: e1a0e000-0000-4000-8000-000000000002
  sandbox:
    imageId: e1a0e000-0000-4000-8000-000000000001
END
    kubectl create secret generic fedhub-provider --namespace fedhub-cells --dry-run=client --output yaml \
      --from-file "$directory/config.yaml" --from-file "$directory/client-secret" | kubectl apply --filename - >&2
    "$E2E" fedhub stop --cell dfw --services
    "$E2E" fedhub start --cell dfw --component=cell-provider
    ;;
  end)
    ask GET /log >"$(dirname "$KUBECONFIGS")/logs/region-$1.json"
    for kind in workloads workloaddeployments; do
      kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" delete --namespace "$1" "$kind" --all --timeout=90s >&2
    done
    ask DELETE /faults >&2
    until [ "$(ask GET /servers | jq 'map(select(.foreign | not)) | length')" = 0 ]; do
      again "servers are left: $(ask GET /servers)"
    done
    tries=0
    until [ "$(ask GET /allocations)" = '[]' ]; do again "quota is left: $(ask GET /allocations)"; done
    ask GET /check >&2
    "$E2E" fedhub restart --cell dfw
    "$E2E" fedhub start --cell dfw --services
    "$E2E" fedhub stop --cell dfw --region
    kubectl delete secret fedhub-provider --namespace fedhub-cells >&2
    ;;
  deploy)
    sed -e '/^#/d' -e 's/(\$wd)/web/' -e 's/(\$city)/DFW/' -e "s/(to_number(\\\$replicas))/$2/" -e 's/name: default/name: region/' \
      "$here/replicated.yaml" | kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" apply --namespace "$1" --filename - >&2
    ;;
  ask) ask "$@" ;;
  servers) ask GET /servers ;;
  await)
    until ask GET /servers | jq --exit-status "$1" >/dev/null; do
      again "the servers do not become so that $1: $(ask GET /servers)"
    done
    ;;
  said)
    export KUBECONFIG="$KUBECONFIGS/project-a.yaml"
    format="{range .status.conditions[?(@.type==\"$3\")]}{.status} {.reason} {.message}{end}"
    until
      seen=$(kubectl get --ignore-not-found --namespace "$1" instance "$2" --output "jsonpath=$format")
      case $seen in "$4 $5 "*) true ;; *) false ;; esac
    do again "$2: $3 is expected to be $4 because of $5, and is: $seen"; done
    printf '%s\n' "$seen"
    ;;
esac
