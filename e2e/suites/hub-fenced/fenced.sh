#!/bin/sh
# What fedhub's own identity may write on the hub: as an administrator who acts as it.
#
#   fenced.sh refused WORDS COMMAND...   waits until a kubectl command is refused with these words
#   fenced.sh allowed COMMAND...         runs a kubectl command
#   fenced.sh secret NAME TYPE [LABEL]   prints a Secret, to be created
set -eu
fedhub() {
  kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" --as system:serviceaccount:fedhub-system:fedhub \
    --as-group system:serviceaccounts --as-group system:serviceaccounts:fedhub-system --as-group system:authenticated "$@"
}
case $1 in
  refused)
    . "$(dirname "$0")/../lib/refused.sh"
    shift
    refused fedhub "$@"
    ;;
  allowed)
    shift
    fedhub "$@"
    ;;
  secret)
    label=
    [ -z "${4:-}" ] || label=", labels: {$4}"
    cat <<END
apiVersion: v1
kind: Secret
metadata: {name: $2, annotations: {kubernetes.io/service-account.name: default}$label}
type: $3
END
    ;;
esac
