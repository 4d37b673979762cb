#!/bin/sh
# Prints what fedhub created and deleted of `web` since a time, on all planes: nothing, where it adopts.
#
#   remade.sh SINCE
set -eu
"$E2E" writes --since "$1" --plane hub --plane project-a --plane cell-dfw --namespace "$HUB" --namespace "$NAMESPACE" |
  awk '$5 ~ /^2/ && ($4 ~ /\/(instances|propagationpolicies|workloaddeployments)(\?|$)/ && $3 == "create" || $3 ~ /^delete/) &&
    $4 !~ /workloaddeployments\/leaving/'
