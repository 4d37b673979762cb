#!/bin/sh
# Prints of what fedhub wrote of `web` since its UIDs were saved what adopting does not take: what was created or deleted, the
# history of revisions, and what was written more often than once, beside its status; a projection once for each role, and a
# WorkloadDeployment once by each controller.
set -eu
since=$(cat "$(dirname "$KUBECONFIGS")/scratch/migrate-from-go/since")
"$E2E" writes --since "$since" --plane hub --plane project-a --plane cell-dfw --plane cell-ord --namespace "$HUB" \
  --namespace "$NAMESPACE" | awk '
    $5 !~ /^2/ { next }
    { sub(/\?.*/, "", $4) }
    $3 ~ /^(create|delete)/ || $4 ~ /revision-history/ { print; next }
    $4 !~ /\/status$/ && ++written[$2 " " $4] > most() { print }
    function most() { return $4 ~ /\/workloaddeployments\// ? 3 : $4 ~ /\/instances\// ? 2 : 1 }'
