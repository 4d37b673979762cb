#!/bin/sh
# Waits until a ConfigMap or Secret on a plane has this content, or is not there and stays away for five seconds: Karmada
# would have put it back by then.
#
#   data.sh PLANE NAMESPACE KIND/NAME KEY=VALUE
#   data.sh PLANE NAMESPACE KIND/NAME gone
set -eu
. "$(dirname "$0")/wait.sh"
get() { kubectl --kubeconfig "$KUBECONFIGS/$1.yaml" get --ignore-not-found --namespace "$2" "$3" --output "jsonpath=$4"; }
if [ "$4" = gone ]; then
  until [ -z "$(get "$1" "$2" "$3" '{.metadata.name}')" ]; do again "$3 is still on $1"; done
  for _ in 1 2 3 4 5; do
    sleep 1
    [ -z "$(get "$1" "$2" "$3" '{.metadata.name}')" ] || { echo "$3 came back on $1" >&2; exit 1; }
  done
  exit 0
fi
value=${4#*=}
case $3 in secret/*) value=$(printf %s "$value" | base64 -w 0) ;; esac
until
  seen=$(get "$1" "$2" "$3" "{.data.${4%%=*}}")
  [ "$seen" = "$value" ]
do again "$3 on $1 has not the content that is expected"; done
