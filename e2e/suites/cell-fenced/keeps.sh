#!/bin/sh
# The cell of DFW and its city label.
#
#   keeps.sh unlabel|label                     removes the city label of its Cluster, and restores it
#   keeps.sh drain|keep                        confirms that its WorkloadDeployments may leave it, and withdraws that
#   keeps.sh scheduled HUB_NAMESPACE WD STATUS WORDS
#                                              waits until Karmada reports that it is scheduled or not, with these words
#   keeps.sh clusters HUB_NAMESPACE WD         prints the clusters that it is scheduled to
set -eu
hub() { kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" "$@"; }
binding() { hub get --namespace "$1" resourcebinding "$2-workloaddeployment" -o "jsonpath=$3"; }
case $1 in
  unlabel) hub label cluster cell-dfw topology.datum.net/city-code- ;;
  label) hub label --overwrite cluster cell-dfw topology.datum.net/city-code=DFW ;;
  drain)
    hub annotate --overwrite --namespace fedhub-cells configmap fedhub-cells drain.federation.datumapis.com/cell-dfw=yes
    ;;
  keep) hub annotate --namespace fedhub-cells configmap fedhub-cells drain.federation.datumapis.com/cell-dfw- ;;
  scheduled)
    . "$(dirname "$0")/../lib/wait.sh"
    until
      seen=$(binding "$2" "$3" '{range .status.conditions[?(@.type=="Scheduled")]}{.status} {.message}{end}')
      case $seen in "$4 "*"$5"*) true ;; *) false ;; esac
    do again "$3 is not Scheduled=$4 with '$5': $seen"; done
    ;;
  clusters) binding "$2" "$3" '{.spec.clusters[*].name}' ;;
esac
