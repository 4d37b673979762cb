#!/bin/sh
# Stands for `datumctl compute ARGUMENT...`: sets what datumctl sets for its plugins, empty where it has nothing to say, and
# is replaced by the plugin. The project is $PROJECT, project-a unless it is set, behind the gateway of platform.sh.
set -eu
developers=$(dirname "$KUBECONFIGS")/scratch/developers/$NAMESPACE
host=$(sed -n 's,.*server: "*https://\([^"]*\)"*$,\1,p' "$developers/gateway.yaml")
unset KUBECONFIG E2E E2E_INSTANCE
SSL_CERT_FILE=$(dirname "$KUBECONFIGS")/pki/ca.crt
export SSL_CERT_FILE
export DATUM_ORG= DATUM_PROJECT="${PROJECT:-project-a}" DATUM_API_HOST="$host" DATUM_PLUGIN_API_VERSION=1
export DATUM_CREDENTIALS_HELPER="$developers/helper" DATUM_SESSION=
exec datumctl-compute "$@"
