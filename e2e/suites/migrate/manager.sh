#!/bin/sh
# Creates by hand what the Go manager leaves behind, on every plane: a WorkloadDeployment in DFW with two Instances and
# a projection whose Instance is gone, and one that is being deleted. $KUBECONFIGS, $NAMESPACE and $HUB say where. No
# fedhub runs meanwhile; Karmada does.
set -eu
. "$(dirname "$0")/../lib/wait.sh"
. "$(dirname "$0")/objects.sh"

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

in_cell leaving
in_cell web
on cell-dfw patch --namespace "$HUB" workloaddeployment web --type=merge \
  --patch '{"metadata":{"finalizers":["compute.datumapis.com/workload-controller"]},"spec":{"replicas":2}}'
service=services.miloapis.com/service-name
upstream="meta.datumapis.com/upstream-cluster-name: cluster-project-a
    meta.datumapis.com/upstream-namespace: $NAMESPACE"
for ordinal in 0 1; do
  instance cell-dfw "$HUB" web $ordinal "$(owner web "$cell" controller)
  finalizers: [compute.datumapis.com/instance-controller, quota.compute.datumapis.com/claim-cleanup]" \
    "$service: compute.datumapis.com"
  instance hub "$HUB" web $ordinal "$(owner web "$(uid hub "$HUB" workloaddeployment/web)" controller)" "$upstream"
done
# Web-7 was removed by a scale-down, which leaves its projection.
for ordinal in 0 1 7; do
  instance project-a "$NAMESPACE" web $ordinal "$(owner web "$(uid project-a "$NAMESPACE" workloaddeployment/web)")" "$upstream"
done
