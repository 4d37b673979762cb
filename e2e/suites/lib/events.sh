#!/bin/sh
# Waits until exactly COUNT Events with a reason are recorded for an object of a plane.
#
#   events.sh PLANE NAMESPACE KIND NAME REASON COUNT
set -eu
. "$(dirname "$0")/wait.sh"
recorded() {
  kubectl --kubeconfig "$KUBECONFIGS/$1.yaml" get events --namespace "$2" \
    --field-selector "involvedObject.kind=$3,involvedObject.name=$4,reason=$5" \
    --output 'jsonpath={range .items[*]}{.type}/{.series.count}{"\n"}{end}' \
    | awk -F/ '{ sum += $2 ? $2 : 1 } END { print sum + 0 }'
}
until seen=$(recorded "$@") && [ "$seen" = "$6" ]
do again "$3 $4 on $1: $5 was recorded $seen times, not $6 times"; done
