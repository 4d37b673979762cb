#!/bin/sh
# Prints what fedhub created and deleted of `web` on all planes since its UIDs were saved: nothing, where it adopts.
set -eu
since=$(cat "$(dirname "$KUBECONFIGS")/scratch/migrate/since")
"$E2E" writes --since "$since" --plane hub --plane project-a --plane cell-dfw --namespace "$HUB" --namespace "$NAMESPACE" |
  awk '$5 ~ /^2/ && $4 !~ /workloaddeployments\/leaving/ &&
    ($3 ~ /^delete/ || $3 == "create" && $4 ~ /\/(instances|propagationpolicies|workloaddeployments)(\?|$)/)'
