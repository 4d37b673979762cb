#!/bin/sh
# Waits until it is remembered on the management plane how far the hub has come: at most once a minute, so that a restore
# soon after what the backup lacks would not be recognised by a process that starts after it.
#
# Needs HUB, the hub namespace.
set -eu
newest=$(kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" get --namespace "$HUB" instance web-2 -o 'jsonpath={.metadata.resourceVersion}')
. "$(dirname "$0")/../lib/wait.sh"
for part in 1 2; do
  tries=0
  until
    known=$(kubectl --kubeconfig "$KUBECONFIGS/management.yaml" get --namespace fedhub-system configmap fedhub-hub-history \
      -o 'jsonpath={.data.highestResourceVersion}')
    [ "${known:-0}" -ge "$newest" ] || [ "$part$tries" = 1400 ]
  do again "of the hub $known is remembered, and $newest is there"; done
done
