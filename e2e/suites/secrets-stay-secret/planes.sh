#!/bin/sh
# Prints each ConfigMap and Secret of the planes that holds this content, or has it in its metadata: `PLANE NAMESPACE/NAME`.
#
#   planes.sh CANARY
set -eu
middle=$(printf %s "$1" | base64 -w 0 | cut -c 5-40)
for plane in project-a project-b hub cell-dfw cell-ord management; do
  kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" get secrets,configmaps --all-namespaces --output json \
    | jq -r --arg plain "$1" --arg coded "$middle" --arg plane "$plane" \
      '.items[] | select(tostring | contains($plain) or contains($coded)) | "\($plane) \(.metadata.namespace)/\(.metadata.name)"'
done
# Karmada's Works hold what goes to a cell: of that cell's namespace alone.
kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" get works.work.karmada.io --all-namespaces --output json \
  | jq -r --arg coded "$middle" '.items[] | select(tostring | contains($coded)) | .metadata.namespace' \
  | sort -u | grep -v -x -e karmada-es-dfw -e karmada-es-cell-dfw | sed 's/^/Works in /' || true
