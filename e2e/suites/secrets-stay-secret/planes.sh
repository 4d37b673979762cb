#!/bin/sh
# Prints each ConfigMap and Secret of the planes that holds this content, or has it in its metadata: `PLANE NAMESPACE/NAME`;
# and each Work of Karmada's that does and is not for the cell DFW.
#
#   planes.sh CANARY
set -eu
middle=$(printf %s "$1" | base64 -w 0 | cut -c 5-40)
# One line for each object.
holding() {
  kubectl --kubeconfig "$KUBECONFIGS/$1.yaml" get "$2" --all-namespaces --output \
    'go-template={{range .items}}{{.metadata.namespace}}/{{.metadata.name}} {{printf "%q" .}}{{"\n"}}{{end}}' \
    | { grep -F -e "$3" -e "$4" || true; } | cut -d ' ' -f 1
}
for plane in project-a project-b hub cell-dfw cell-ord management; do
  holding "$plane" secrets,configmaps "$1" "$middle" | sed "s|^|$plane |"
done
holding hub works.work.karmada.io "$1" "$middle" | grep -v '^karmada-es-[a-z-]*dfw/' | sed 's|^|Work |' || true
