#!/bin/sh
# Runs a script for each of the twenty planes whose number matches. $NUMBER is its number, $SERVER the API server that
# has it as a namespace, $SPACE that namespace, $HUB its hub namespace, and $KUBECONFIG the kubeconfig of the server.
#
#   each.sh REGEX SCRIPT
set -eu
for NUMBER in $(seq -w 20 | grep -E "$1"); do
  case $((${NUMBER#0} % 3)) in 0) SERVER=project-a ;; 1) SERVER=project-b ;; 2) SERVER=management ;; esac
  KUBECONFIG=$KUBECONFIGS/$SERVER.yaml SPACE=$NAMESPACE-$NUMBER
  export NUMBER SERVER KUBECONFIG SPACE
  case $2 in *HUB*)
    HUB=ns-$(kubectl get namespace "$SPACE" -o 'jsonpath={.metadata.uid}')
    export HUB
    ;;
  esac
  sh -euc "$2"
done
