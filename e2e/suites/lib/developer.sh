#!/bin/sh
# Makes a user of a plane: a service account `developer` in a namespace, with the rights that a project's user has, and a
# kubeconfig with its token for the users' command line (compute.sh). Nothing of the hub, of cells or of other projects.
#
#   developer.sh PLANE NAMESPACE
#
# $WITHOUT: a verb of Workloads that the user has not.
set -eu
plane=$1 namespace=$2
export KUBECONFIG="$KUBECONFIGS/$plane.yaml"
verbs='get list watch create update patch delete'
[ -z "${WITHOUT-}" ] || verbs=$(printf '%s\n' "$verbs" | sed "s/ *$WITHOUT//")
listed() { printf '%s' "$1" | sed 's/  */, /g'; }
kubectl apply --server-side --force-conflicts -f - >&2 <<END
apiVersion: v1
kind: ServiceAccount
metadata: {name: developer, namespace: $namespace}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: developer, namespace: $namespace}
rules:
- {apiGroups: [compute.datumapis.com], resources: [workloads], verbs: [$(listed "$verbs")]}
- {apiGroups: [compute.datumapis.com], resources: [workloaddeployments], verbs: [get, list, watch, patch]}
- {apiGroups: [compute.datumapis.com], resources: [workloadrollouts], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [compute.datumapis.com], resources: [instances], verbs: [get, list, watch]}
- {apiGroups: [networking.datumapis.com], resources: [networks, networkservices, httpproxies], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [quota.miloapis.com], resources: [resourceclaims], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [configmaps, secrets], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: ["", events.k8s.io], resources: [events], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: developer, namespace: $namespace}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: developer}
subjects: [{kind: ServiceAccount, name: developer, namespace: $namespace}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: developer}
rules:
- {apiGroups: [compute.datumapis.com], resources: [instancetypes], verbs: [get, list, watch]}
- {apiGroups: [networking.datumapis.com], resources: [locationbindings], verbs: [get, list, watch]}
- {apiGroups: [quota.miloapis.com], resources: [allowancebuckets, resourceregistrations], verbs: [get, list, watch]}
- {apiGroups: [services.miloapis.com], resources: [services], verbs: [get, list, watch]}
- {apiGroups: [services.miloapis.com], resources: [serviceentitlements], verbs: [get, list, watch, create, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: developer-$namespace}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: developer}
subjects: [{kind: ServiceAccount, name: developer, namespace: $namespace}]
END
developers=$(dirname "$KUBECONFIGS")/scratch/developers/$namespace
mkdir -p "$developers"
token=$(kubectl create token developer --namespace "$namespace" --duration=2h)
kubectl config view --raw --output json | jq --arg token "$token" --arg namespace "$namespace" \
  '.users[0].user = {token: $token} | .contexts[0].context.namespace = $namespace' >"$developers/$plane.yaml"
