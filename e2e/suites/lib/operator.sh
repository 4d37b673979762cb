#!/bin/sh
# A command of fedhub, as an operator runs it with administrators' kubeconfigs of the management plane and the hub.
#
#   operator.sh explain|audit|planes|check ARGUMENT...   with --hub-kubeconfig where the command has it
#   operator.sh pause|resume|planes withdraw ARGUMENT...
#
# $MANAGEMENT names the management plane, where it is another one.
set -eu
command=$1
shift
hub=
case $command in explain | audit | snapshot) hub=--hub-kubeconfig=$KUBECONFIGS/hub.yaml ;; esac
unset FEDHUB_LOG FEDHUB_URL
# shellcheck disable=SC2086
exec "$(dirname "$E2E")/fedhub" "$command" "$@" --management-kubeconfig "$KUBECONFIGS/${MANAGEMENT:-management}.yaml" $hub
