#!/bin/sh
# Prints a kubeconfig that acts as a service account: with the server and the CA of a context of yours, and nothing else
# of it.
#
#   kubeconfig.sh CONTEXT NAMESPACE ACCOUNT [DURATION]
#
# Its token lasts for DURATION (8760h, a year), or for as long as the server allows at most. Before it ends, make another one
# and replace the Secret that holds this one: fedhub takes it by itself.
set -eu
if [ $# -lt 3 ]; then
  sed -n 's/^#   //p' "$0" >&2
  exit 2
fi
of() { kubectl --context "$1" config view --minify --flatten --raw -o "jsonpath={.clusters[0].cluster.$2}"; }
server=$(of "$1" server)
ca=$(of "$1" certificate-authority-data)
token=$(kubectl --context "$1" --namespace "$2" create token "$3" --duration "${4:-8760h}")
cat <<END
apiVersion: v1
kind: Config
clusters:
  - name: plane
    cluster:
      server: $server
      certificate-authority-data: $ca
users:
  - name: $3
    user:
      token: $token
contexts:
  - name: plane
    context:
      cluster: plane
      user: $3
current-context: plane
END
