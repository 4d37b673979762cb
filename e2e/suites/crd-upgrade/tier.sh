#!/bin/sh
# The field `tier` with the default `standard`, in the template of the cell's CRDs.
#
#   tier.sh add | remove | await NAMESPACE WD
set -eu
cell() { kubectl --kubeconfig "$KUBECONFIGS/cell-dfw.yaml" "$@"; }
schema=/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties
case $1 in
add) rest=',"value":{"type":"string","default":"standard"}' ;;
remove) rest= ;;
await)
  . "$(dirname "$0")/../lib/wait.sh"
  until [ "$(cell get --namespace "$2" workloaddeployment "$3" --output 'jsonpath={.spec.template.spec.tier}')" = standard ]
  do again "$3 has no tier"; done
  exit ;;
esac
for at in "instances $schema" "workloaddeployments $schema/template/properties/spec/properties"; do
  cell patch crd "${at% *}.compute.datumapis.com" --type=json \
    --patch "[{\"op\":\"$1\",\"path\":\"${at#* }/tier\"$rest}]"
done
