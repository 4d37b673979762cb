#!/bin/sh
# A stand-in for datumctl: what its contract with plugins says, and no more. The files of a test are in $STUB.
#
#   datumctl [--project P] [--session S] compute ARGUMENT...    runs the plugin in place of itself
#   datumctl __complete compute WORD...                         asks the plugin for completions
#   datumctl probe                                              asks for the manifest, as at installation
#   datumctl auth get-token [--session S]                       prints a token
self=$STUB/datumctl
plugin=$STUB/datumctl-compute

variables() {
    export DATUM_ORG="" DATUM_PROJECT="$project" DATUM_API_HOST="$STUB_HOST" DATUM_PLUGIN_API_VERSION=1
    export DATUM_CREDENTIALS_HELPER="$self" DATUM_SESSION="$session"
}

project=$STUB_PROJECT
session=""
while :; do
    case "$1" in
        --project) project=$2; shift 2 ;;
        --session) session=$2; shift 2 ;;
        *) break ;;
    esac
done
case "$1" in
    compute)
        shift
        # Forwarded help gets none of the variables.
        case "$*" in *--help*) exec "$plugin" "$@" ;; esac
        variables
        exec "$plugin" "$@"
        ;;
    __complete)
        shift 2
        variables
        exec "$plugin" __complete "$@"
        ;;
    probe)
        exec env -i PATH="$PATH" HOME="$HOME" TMPDIR=/tmp "$plugin" --plugin-manifest
        ;;
    auth)
        printf '%s\n' "$*" >> "$STUB/asked"
        printf good
        ;;
esac
