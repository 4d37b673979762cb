#!/bin/sh
# Prints what the developer of a namespace (developer.sh) asked of a plane, by its audit log: a line `CODE VERB RESOURCE` for
# each kind of request, sorted. Nothing but the developer's own credential is used for those.
#
#   asked.sh PLANE NAMESPACE
set -eu
log=$(dirname "$KUBECONFIGS")/audit/$1.log
grep -F "\"system:serviceaccount:$2:developer\"" "$log" | jq --raw-output --arg user "system:serviceaccount:$2:developer" '
  select(.user.username == $user and .objectRef.resource)
  | "\(.responseStatus.code) \(.verb) \(.objectRef.resource)"' | sort -u
