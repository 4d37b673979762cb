#!/bin/sh
# kubectl as the user eve, with a UID and extras, in $NAMESPACE of project-a. $GROUPS_OF: her groups, separated by commas.
set -eu
scratch=$(dirname "$KUBECONFIGS")/scratch/admission-networks-use
mkdir -p "$scratch"
# A kubeconfig can name extras, which no flag of kubectl does.
groups=$(echo "${GROUPS_OF:-shop,net}" | sed 's/[^,]*/"&"/g')
user="{\"as\":\"eve\",\"as-uid\":\"uid-of-eve\",\"as-groups\":[$groups],\"as-user-extra\":{\"example.com/team\":[\"shop\",\"night\"]},"
kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" config view --raw --minify --output json |
  sed "s|\"user\": {\$|\"user\": $user|" >"$scratch/eve.json"
exec kubectl --kubeconfig "$scratch/eve.json" --namespace "$NAMESPACE" "$@"
