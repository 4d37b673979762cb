#!/bin/sh
# Has the admission of cell-dfw refuse an operation on a kind in one namespace, or no more.
#
#   policy.sh start NAMESPACE OPERATION RESOURCE   waits until it does
#   policy.sh end NAMESPACE
set -eu
. "$(dirname "$0")/../lib/wait.sh"
export KUBECONFIG="$KUBECONFIGS/cell-dfw.yaml"
name=freeze-$2
if [ "$1" = end ]; then
  kubectl delete --ignore-not-found validatingadmissionpolicybinding,validatingadmissionpolicy "$name"
  exit
fi
kubectl apply -f - <<Y
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: $name}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: $2}}
    resourceRules:
    - {apiGroups: [compute.datumapis.com], apiVersions: ["*"], operations: [$3], resources: [$4]}
  validations:
  - {expression: "false", reason: Forbidden, message: nothing may change during the freeze}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: $name}
spec: {policyName: $name, validationActions: [Deny]}
Y
# An API server takes a policy up when its watch has shown it. It is tried with what is there already.
probe() {
  case $3 in
    DELETE) kubectl delete --namespace "$2" --dry-run=server "$4" --all 2>&1 ;;
    *)
      kubectl get --namespace "$2" "$4" --output json |
        jq '.items[0] | .metadata = {name: "probe", namespace: .metadata.namespace}' |
        kubectl create --dry-run=server -f - 2>&1
      ;;
  esac
}
until probe "$@" | grep -q 'during the freeze'; do again "cell-dfw does not refuse to $3 $4"; done
