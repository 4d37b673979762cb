#!/bin/sh
# The cell's controller, played: the status of an Instance's copy on the hub.
#
#   instance-status.sh HUB_NAMESPACE NAME ADDRESS
set -eu
conditions=
for type in Programmed Available Ready QuotaGranted; do
  conditions="$conditions{\"type\":\"$type\",\"status\":\"True\",\"reason\":\"Played\",\"message\":\"said by a suite\",
    \"lastTransitionTime\":\"2026-01-02T03:04:05Z\"},"
done
kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" patch --namespace "$1" instance "$2" --subresource=status --type=merge \
  --patch '{"status":{"suspended":false,"networkInterfaces":[{"name":"eth0","assignments":{"networkIP":"'"$3"'"}}],
    "conditions":['"${conditions%,}"']}}'
