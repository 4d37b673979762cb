#!/bin/sh
# Creates by hand what the Go manager leaves behind, on every plane: a WorkloadDeployment in DFW with two Instances and
# a projection whose Instance is gone, and one that is being deleted. $KUBECONFIGS, $NAMESPACE and $HUB say where. No
# fedhub runs meanwhile; Karmada does.
set -eu
. "$(dirname "$0")/../lib/wait.sh"
on() { plane=$1; shift; kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" "$@"; }
uid() { on "$1" get --namespace "$2" "$3" --output 'jsonpath={.metadata.uid}'; }

# template INDENT
template() {
  sed "s/^/$1/" <<END
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
}

# deployment PLANE NAMESPACE NAME METADATA
deployment() {
  on "$1" create -f - <<END
apiVersion: compute.datumapis.com/v1alpha
kind: WorkloadDeployment
metadata:
  name: $3
  namespace: $2
$4
spec:
  cityCode: DFW
  placementName: here
  workloadRef: {name: web, uid: 00000000-0000-4000-8000-000000000000}
  scaleSettings: {minReplicas: 2}
  template:
    spec:
$(template '      ')
END
}

# instance PLANE NAMESPACE ORDINAL METADATA LABEL...: with a status that is not the schema's default.
instance() {
  at=$1 space=$2 ordinal=$3 metadata=$4
  shift 4
  on "$at" create -f - <<END
apiVersion: compute.datumapis.com/v1alpha
kind: Instance
metadata:
  name: web-$ordinal
  namespace: $space
$metadata
  labels:
$(printf '    %s\n' "$@")
    compute.datumapis.com/instance-index: "$ordinal"
    compute.datumapis.com/workload-deployment-uid: $cell
    compute.datumapis.com/workload-deployment-name: web
    compute.datumapis.com/workload-name: web
    compute.datumapis.com/workload-uid: 00000000-0000-4000-8000-000000000000
    compute.datumapis.com/placement-name: here
    compute.datumapis.com/city-code: DFW
spec:
$(template '  ')
  location: {name: dfw}
  controller: {templateHash: 5c7f9b8d6}
END
  conditions=
  for condition in Programmed/Programmed Available/Available Ready/Available QuotaGranted/QuotaDisabled; do
    conditions="$conditions{\"type\":\"${condition%/*}\",\"status\":\"True\",\"reason\":\"${condition#*/}\",
      \"message\":\"said by the manager\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"},"
  done
  on "$at" patch --namespace "$space" instance "web-$ordinal" --subresource=status --type=merge --patch '{"status":{
    "controller":{"observedTemplateHash":"5c7f9b8d6"},"networkInterfaces":[{"name":"eth0","assignments":{"networkIP":"10.0.0.'"$ordinal"'"}}],
    "conditions":['"${conditions%,}"']}}'
}

# owner NAME UID [controller]
owner() {
  printf '%s\n' '  ownerReferences:' '  - apiVersion: compute.datumapis.com/v1alpha' '    kind: WorkloadDeployment' \
    "    name: $1" "    uid: $2"
  [ -z "${3:-}" ] || printf '%s\n' '    controller: true' '    blockOwnerDeletion: true'
}

project="  annotations: {compute.datumapis.com/federation-namespace: $HUB}"
held='  finalizers: [compute.datumapis.com/federator]'
for wd in web leaving; do
  deployment project-a "$NAMESPACE" $wd "$project
$held"
done

on hub create -f - <<END
apiVersion: v1
kind: Namespace
metadata:
  name: $HUB
  labels:
    meta.datumapis.com/upstream-cluster-name: cluster-project-a
    meta.datumapis.com/upstream-namespace: $NAMESPACE
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: city-dfw
  namespace: $HUB
spec:
  resourceSelectors:
  - apiVersion: compute.datumapis.com/v1alpha
    kind: WorkloadDeployment
    labelSelector: {matchLabels: {topology.datum.net/city-code: DFW}}
  - {apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {compute.datumapis.com/referenced-data: "true"}}}
  - {apiVersion: v1, kind: Secret, labelSelector: {matchLabels: {compute.datumapis.com/referenced-data: "true"}}}
  placement:
    clusterAffinity: {labelSelector: {matchLabels: {topology.datum.net/city-code: DFW}}}
END
for wd in web leaving; do
  deployment hub "$HUB" $wd "  labels: {topology.datum.net/city-code: DFW, meta.datumapis.com/upstream-namespace: $NAMESPACE}"
done
on project-a delete --namespace "$NAMESPACE" workloaddeployment leaving --wait=false

for wd in web leaving; do
  tries=0
  until cell=$(uid cell-dfw "$HUB" workloaddeployment/$wd 2>/dev/null); do again "Karmada has not propagated $wd"; done
done
cell=$(uid cell-dfw "$HUB" workloaddeployment/web)
on cell-dfw patch --namespace "$HUB" workloaddeployment web --type=merge \
  --patch '{"metadata":{"finalizers":["compute.datumapis.com/workload-controller"]},"spec":{"replicas":2}}'
service=services.miloapis.com/service-name
upstream="meta.datumapis.com/upstream-cluster-name: cluster-project-a
    meta.datumapis.com/upstream-namespace: $NAMESPACE"
for ordinal in 0 1; do
  instance cell-dfw "$HUB" $ordinal "$(owner web "$cell" controller)
  finalizers: [compute.datumapis.com/instance-controller, quota.compute.datumapis.com/claim-cleanup]" \
    "$service: compute.datumapis.com"
  instance hub "$HUB" $ordinal "$(owner web "$(uid hub "$HUB" workloaddeployment/web)" controller)" "$upstream"
done
# Web-7 was removed by a scale-down, which leaves its projection.
for ordinal in 0 1 7; do
  instance project-a "$NAMESPACE" $ordinal "$(owner web "$(uid project-a "$NAMESPACE" workloaddeployment/web)")" "$upstream"
done
