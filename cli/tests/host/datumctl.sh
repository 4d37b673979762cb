#!/bin/sh
# A stand-in for datumctl: what the real one was seen to do for a plugin, and no more. The files of a test are in $STUB.
#
#   datumctl compute ARGUMENT...            is replaced by the plugin, which gets all that follows its name as it stands
#   datumctl FLAG... compute ARGUMENT...    reads every flag of the line as its own, also those behind the name
#   datumctl __complete compute WORD...     asks the plugin for completions
#   datumctl plugin trust compute           records the path and the hash of the plugin, without which it is not run
#   datumctl auth get-token                 prints a token, or says on standard error why there is none
#   datumctl probe                          asks for the manifest, as an installation does
#
# Its context is $STUB_HOST and $STUB_PROJECT, its login $STUB_SESSION. Where $STUB/logged-out is there, it has no login: it
# still knows its project, and no host. Where $STUB/ended is there, its login has ended, which only a token shows.
set -u
self=$STUB/datumctl
plugin=$STUB/datumctl-compute
project=${STUB_PROJECT-}
host=${STUB_HOST-}
session=${STUB_SESSION-}
[ ! -e "$STUB/logged-out" ] || host='' session=''

failed() {
    printf '%s\n' "$@" >&2
    exit 1
}

# A link is followed: what is hashed is what runs.
fingerprint() { sha256sum "$(readlink -f "$plugin")"; }

variables() {
    [ "$(cat "$STUB/trusted" 2>/dev/null)" = "$(fingerprint)" ] ||
        failed 'error: the plugin compute is not trusted' 'Trust it with: `datumctl plugin trust compute`'
    export DATUM_ORG='' DATUM_PROJECT="$project" DATUM_API_HOST="$host" DATUM_PLUGIN_API_VERSION=1
    export DATUM_CREDENTIALS_HELPER="$self" DATUM_SESSION="$session"
}

# Flags before the name: nothing is passed on but the words that are left, and neither is the namespace.
case "${1-}" in
-*)
    words=
    while [ $# -gt 0 ]; do
        case "$1" in
        --project) project=$2 && shift 2 ;;
        --organization | --namespace | -n) shift 2 ;;
        -*) failed "error: there is no flag $1" ;;
        *) words="$words $1" && shift ;;
        esac
    done
    # shellcheck disable=SC2086
    set -- $words
    ;;
esac

case "$*" in
compute | 'compute '*)
    shift
    # Help is asked for without any of the variables.
    case " $* " in *' --help '* | *' -h '*) exec "$plugin" "$@" ;; esac
    variables
    exec "$plugin" "$@"
    ;;
'__complete compute '*)
    shift 2
    variables
    exec "$plugin" __complete "$@"
    ;;
'plugin trust compute') fingerprint >"$STUB/trusted" ;;
probe) exec env -i PATH="$PATH" HOME="$HOME" TMPDIR=/tmp "$plugin" --plugin-manifest ;;
'auth get-token' | 'auth get-token '*)
    printf '%s\n' "$*" >>"$STUB/asked"
    [ ! -e "$STUB/logged-out" ] && [ ! -e "$STUB/ended" ] ||
        failed 'error: The key could not be exchanged for a token.' 'Please log in again: `datumctl login --credentials <file>`'
    printf good
    ;;
# These it has, and they are of no use here.
login | 'login '* | 'ctx use'* | 'get projects' | 'auth update-kubeconfig'* | 'plugin '*) ;;
*) failed "error: there is no command \"$*\"" ;;
esac
