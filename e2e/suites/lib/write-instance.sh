#!/bin/sh
# Writes an Instance to the hub by hand, with the labels, the owner and the mark of the wire contract, then its status.
# Its mark makes it the copy of another cell, so that the cells leave it alone. Where a WorkloadDeployment has Instances
# of its own, choose an ordinal that they do not have.
#
#   write-instance.sh HUB_NAMESPACE PLANE PROJECT_NAMESPACE WD ORDINAL [ADDRESS]
#
# $LABELS: more labels, or others, as lines of YAML. $NAME: another name. $OWNED=no: without an owner, as older cells
# write. $SOURCE: another mark, or `none`, as older cells write. $STATUS=no: without a status.
set -eu
hub=$1 plane=$2 namespace=$3 wd=$4 ordinal=$5 address=${6:-10.0.0.$ordinal}
kubectl() { command kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" --namespace "$hub" "$@"; }
owner=
if [ "${OWNED:-yes}" = yes ]; then
  uid=$(kubectl get workloaddeployment "$wd" -o 'jsonpath={.metadata.uid}')
  owner="
  ownerReferences:
  - apiVersion: compute.datumapis.com/v1alpha
    kind: WorkloadDeployment
    name: $wd
    uid: $uid
    controller: true
    blockOwnerDeletion: true"
fi
mark="
    federation.datumapis.com/cell-source: ${SOURCE:-cell-elsewhere/22222222-0000-4000-8000-00000000000$ordinal}"
[ "${SOURCE:-}" != none ] || mark=
labels="meta.datumapis.com/upstream-cluster-name: cluster-$plane
meta.datumapis.com/upstream-namespace: $namespace
compute.datumapis.com/workload-uid: 00000000-0000-4000-8000-000000000000
compute.datumapis.com/workload-deployment-uid: 11111111-0000-4000-8000-000000000000
compute.datumapis.com/workload-deployment-name: $wd
compute.datumapis.com/workload-name: web
compute.datumapis.com/placement-name: here
compute.datumapis.com/city-code: DFW
compute.datumapis.com/instance-index: \"$ordinal\""
labels=$(printf '%s\n%s\n' "${LABELS:-}" "$labels" | awk -F: 'NF && !seen[$1]++ { print "    " $0 }')
kubectl create -f - <<END
apiVersion: compute.datumapis.com/v1alpha
kind: Instance
metadata:
  name: ${NAME:-$wd-$ordinal}
  labels:
$labels
  annotations:$mark
    example.com/of-the-cell: "stays there"$owner
spec:
  runtime:
    resources:
      instanceType: datumcloud/d1-standard-2
    sandbox:
      containers:
      - name: app
        image: docker.io/library/nginx:1.29
  networkInterfaces:
  - network:
      name: default
END
if [ "${STATUS:-yes}" = no ]; then exit; fi
conditions=
for type in Programmed Available Ready QuotaGranted; do
  conditions="$conditions{\"type\":\"$type\",\"status\":\"True\",\"reason\":\"ByHand\",\"message\":\"said by a suite\",
    \"lastTransitionTime\":\"2026-01-02T03:04:05Z\"},"
done
kubectl patch instance "${NAME:-$wd-$ordinal}" --subresource=status --type=merge \
  --patch '{"status":{"suspended":false,"networkInterfaces":[{"name":"eth0","assignments":{"networkIP":"'"$address"'"}}],
    "conditions":['"${conditions%,}"']}}'
