#!/usr/bin/env bash
# Creates the WorkloadDeployment $1 in DFW, which takes all keys of the ConfigMap and of the Secret $2 as variables.
set -euo pipefail
from="[{\"configMapRef\": {\"name\": \"$2\"}}, {\"secretRef\": {\"name\": \"$2\"}}]"
kubectl patch --local --type=json --output yaml -f ../../../deploy/samples/workloaddeployment.yaml --patch "[
  {\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"$1\"},
  {\"op\": \"add\", \"path\": \"/spec/template/spec/runtime/sandbox/containers/0/envFrom\", \"value\": $from}]" |
  kubectl create --namespace "$NAMESPACE" -f -
