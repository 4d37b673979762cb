#!/bin/sh
# Waits until an InstanceType on planes has this value at a path, or is gone.
#
#   type.sh NAME PATH=VALUE PLANE...
#   type.sh NAME gone PLANE...
set -eu
. "$(dirname "$0")/../lib/wait.sh"
name=$1 expected=$2
shift 2
for plane in "$@"; do
  tries=0
  until
    if [ "$expected" = gone ]; then path=.metadata.name; else path=${expected%%=*}; fi
    seen=$(kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" get --ignore-not-found instancetype "$name" -o "jsonpath={$path}")
    if [ "$expected" = gone ]; then [ -z "$seen" ]; else [ "$seen" = "${expected#*=}" ]; fi
  do again "$name on $plane: not $expected but ${seen:-nothing}"; done
done
