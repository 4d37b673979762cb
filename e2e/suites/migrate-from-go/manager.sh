#!/bin/sh
# Creates by hand what the Go manager leaves behind of a Workload in two cities that refers to a ConfigMap and a Secret, on
# every plane: the Workload with its finalizer and its revisions, its WorkloadDeployments with names, labels, owners and
# finalizers, their copies and those of what they refer to, and an Instance of each. No fedhub runs meanwhile; Karmada does.
set -eu
here=$(dirname "$0")
. "$here/../lib/wait.sh"
. "$here/../migrate/objects.sh"
placement=us minimum=1 refers=yes
service=services.miloapis.com/service-name

on project-a create --namespace "$NAMESPACE" configmap app --from-literal=mode=on
on project-a create --namespace "$NAMESPACE" secret generic db --from-literal=password=example
on project-a create -f - <<END
apiVersion: compute.datumapis.com/v1alpha
kind: Workload
metadata:
  name: web
  namespace: $NAMESPACE
  annotations: {compute.datumapis.com/current-revision: "2"}
  finalizers: [compute.datumapis.com/workload-controller]
spec:
  placements:
  - name: us
    cityCodes: [DFW, ORD]
    scaleSettings: {minReplicas: 1}
  template:
    spec:
$(template '      ')
END
workload=$(uid project-a "$NAMESPACE" workload/web)
on project-a patch --namespace "$NAMESPACE" workload web --subresource=status --type=merge --patch '{"status":{
  "observedGeneration":1,"deployments":2,"replicas":2,"currentReplicas":2,"updatedReplicas":2,"readyReplicas":2,
  "desiredReplicas":2,"conditions":[{"type":"Available","status":"True","reason":"AvailablePlacementFound","observedGeneration":1,
  "message":"At least one available placement was found","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}'
spec=$(on project-a get --namespace "$NAMESPACE" workload web --output 'jsonpath={.spec}' | sed 's/[\\"]/\\&/g')
# revision NUMBER IMAGE SPEC: without an author and a hash, as the command line wrote it.
revision() {
  printf '{"rev":%s,"timestamp":"2026-01-02T03:04:05Z","image":"%s","changes":"","actor":"","templateHash":"","spec":"%s"}' "$@"
}
on project-a create --namespace "$NAMESPACE" configmap compute.datumapis.com-revision-history.web \
  --from-literal=1="$(revision 1 docker.io/library/nginx:1.28 "$(printf %s "$spec" | sed s/nginx:1.29/nginx:1.28/)")" \
  --from-literal=2="$(revision 2 docker.io/library/nginx:1.29 "$spec")"

on hub create -f - <<END
apiVersion: v1
kind: Namespace
metadata:
  name: $HUB
  labels:
    meta.datumapis.com/upstream-cluster-name: cluster-project-a
    meta.datumapis.com/upstream-namespace: $NAMESPACE
END
for object in configmap/app secret/db; do
  case $object in
    configmap/*) on hub create --namespace "$HUB" configmap app --from-literal=mode=on ;;
    secret/*) on hub create --namespace "$HUB" secret generic db --from-literal=password=example ;;
  esac
  on hub label --namespace "$HUB" $object compute.datumapis.com/referenced-data=true
  on hub annotate --namespace "$HUB" $object \
    compute.datumapis.com/referenced-by="[\"$NAMESPACE/web-us-dfw\",\"$NAMESPACE/web-us-ord\"]"
done

expected="compute.datumapis.com/expected-referenced-data: '[\"ConfigMap/app\",\"Secret/db\"]'"
upstream="meta.datumapis.com/upstream-cluster-name: cluster-project-a
    meta.datumapis.com/upstream-namespace: $NAMESPACE"
for city in DFW ORD; do
  wd=web-us-$(lower $city)
  on hub create -f - <<END
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: city-$(lower $city)
  namespace: $HUB
spec:
  propagateDeps: true
  resourceSelectors:
  - apiVersion: compute.datumapis.com/v1alpha
    kind: WorkloadDeployment
    labelSelector: {matchLabels: {topology.datum.net/city-code: $city}}
  placement:
    clusterAffinity: {labelSelector: {matchLabels: {topology.datum.net/city-code: $city}}}
END
  deployment project-a "$NAMESPACE" "$wd" "  labels:
    compute.datumapis.com/workload-uid: $workload
    compute.datumapis.com/city-code: $city
    $service: compute.datumapis.com
  annotations:
    compute.datumapis.com/federation-namespace: $HUB
    $expected
  finalizers: [compute.datumapis.com/federator, compute.datumapis.com/referenced-data-controller]
$(owned_by=Workload owner web "$workload" controller)"
  on project-a patch --namespace "$NAMESPACE" workloaddeployment "$wd" --type=merge --patch '{"spec":{"replicas":1}}'
  deployment hub "$HUB" "$wd" "  labels: {topology.datum.net/city-code: $city, meta.datumapis.com/upstream-namespace: $NAMESPACE}
  annotations: {$expected}"
  on hub patch --namespace "$HUB" workloaddeployment "$wd" --type=merge --patch '{"spec":{"replicas":1}}'
  in_cell "$wd"
  there=cell-$(lower $city)
  on "$there" patch --namespace "$HUB" workloaddeployment "$wd" --type=merge \
    --patch '{"metadata":{"finalizers":["compute.datumapis.com/workload-controller"]}}'
  instance "$there" "$HUB" "$wd" 0 "$(owner "$wd" "$cell" controller)
  finalizers: [compute.datumapis.com/instance-controller]" "$service: compute.datumapis.com"
  instance hub "$HUB" "$wd" 0 "$(owner "$wd" "$(uid hub "$HUB" workloaddeployment/"$wd")" controller)" "$upstream"
  instance project-a "$NAMESPACE" "$wd" 0 "$(owner "$wd" "$(uid project-a "$NAMESPACE" workloaddeployment/"$wd")")" "$upstream"
  "$here/../lib/data.sh" "$there" "$HUB" configmap/app mode=on
  "$here/../lib/data.sh" "$there" "$HUB" secret/db password=example
done
