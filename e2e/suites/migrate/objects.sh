# To be sourced: creates objects as the Go manager leaves them. $KUBECONFIGS, $NAMESPACE and $HUB say where. What they have
# is in these variables; `refers` makes the template refer to the ConfigMap `app` and the Secret `db`.
city=DFW placement=here workload=00000000-0000-4000-8000-000000000000 minimum=2 refers=''
on() { plane=$1; shift; kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" "$@"; }
uid() { on "$1" get --namespace "$2" "$3" --output 'jsonpath={.metadata.uid}'; }
lower() { printf %s "$1" | tr '[:upper:]' '[:lower:]'; }

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
END
  [ -z "$refers" ] || sed "s/^/$1/" <<END
      env:
      - name: PASSWORD
        valueFrom: {secretKeyRef: {name: db, key: password}}
      volumeAttachments:
      - {name: app, mountPath: /etc/app}
volumes:
- name: app
  configMap: {name: app}
END
  sed "s/^/$1/" <<END
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
  cityCode: $city
  placementName: $placement
  workloadRef: {name: web, uid: $workload}
  scaleSettings: {minReplicas: $minimum}
  template:
    spec:
$(template '      ')
END
}

# instance PLANE NAMESPACE WD ORDINAL METADATA LABEL...: with a status that is not the schema's default. $cell is the UID of
# the cell's WD.
instance() {
  at=$1 space=$2 wd=$3 ordinal=$4 metadata=$5
  shift 5
  on "$at" create -f - <<END
apiVersion: compute.datumapis.com/v1alpha
kind: Instance
metadata:
  name: $wd-$ordinal
  namespace: $space
$metadata
  labels:
$(printf '    %s\n' "$@")
    compute.datumapis.com/instance-index: "$ordinal"
    compute.datumapis.com/workload-deployment-uid: $cell
    compute.datumapis.com/workload-deployment-name: $wd
    compute.datumapis.com/workload-name: web
    compute.datumapis.com/workload-uid: $workload
    compute.datumapis.com/placement-name: $placement
    compute.datumapis.com/city-code: $city
spec:
$(template '  ')
  location: {name: $(lower "$city")}
  controller: {templateHash: 5c7f9b8d6}
END
  conditions=
  for condition in Programmed/Programmed Available/Available Ready/Available QuotaGranted/QuotaDisabled; do
    conditions="$conditions{\"type\":\"${condition%/*}\",\"status\":\"True\",\"reason\":\"${condition#*/}\",
      \"message\":\"said by the manager\",\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"},"
  done
  on "$at" patch --namespace "$space" instance "$wd-$ordinal" --subresource=status --type=merge --patch '{"status":{
    "controller":{"observedTemplateHash":"5c7f9b8d6"},"networkInterfaces":[{"name":"eth0","assignments":{"networkIP":"10.0.0.'"$ordinal"'"}}],
    "conditions":['"${conditions%,}"']}}'
}

# owner NAME UID [controller]: of an object that belongs to a WorkloadDeployment, or to $owned_by.
owner() {
  printf '%s\n' '  ownerReferences:' '  - apiVersion: compute.datumapis.com/v1alpha' "    kind: ${owned_by:-WorkloadDeployment}" \
    "    name: $1" "    uid: $2"
  [ -z "${3:-}" ] || printf '%s\n' '    controller: true' '    blockOwnerDeletion: true'
}

# in_cell NAME: waits until Karmada has propagated the WorkloadDeployment to the cell of $city, and puts its UID into $cell.
in_cell() {
  tries=0
  until cell=$(uid "cell-$(lower "$city")" "$HUB" "workloaddeployment/$1" 2>/dev/null); do
    again "Karmada has not propagated $1"
  done
}
