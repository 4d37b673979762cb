#!/bin/sh
# The commands of docs/upgrade.md, in a directory of their own.
#
#   commands.sh run HEADING   those below a heading
#   commands.sh lose          deletes what fedhub keeps on the management plane
#   commands.sh forget        deletes what it remembers of planes there, and leaves the Secrets
#   commands.sh remembered PLANE...   waits until it remembers these planes
#   commands.sh identities    prints what it remembers of project-a and project-b
set -eu
here=$(dirname "$0")
scratch=$(dirname "$KUBECONFIGS")/scratch/management-restored
. "$here/../lib/contexts.sh"
contexts "$scratch"
own() { kubectl --context MANAGEMENT --namespace fedhub-system "$@"; }
remembered=federation.datumapis.com/remembers
# Other suites leave planes behind that are remembered for a while.
identities() {
  own get configmaps --selector $remembered --output json |
    jq --compact-output '.items[].data | to_entries[] | select(.key == "project-a" or .key == "project-b")'
}
case $1 in
  run)
    "$here/../lib/document.sh" upgrade.md "$2" >"$scratch/commands"
    [ "$(grep -c '^kubectl ' "$scratch/commands")" -ge 2 ]
    cd "$scratch"
    sh -eux commands
    ;;
  lose)
    own delete configmaps --selector $remembered
    own delete secrets --selector federation.datumapis.com/plane
    own delete leases --all
    ;;
  forget)
    own delete configmaps --selector $remembered
    own delete leases --all
    ;;
  remembered)
    shift
    . "$here/../lib/wait.sh"
    for plane; do
      until identities | grep -qF "{\"key\":\"$plane\""; do again "$plane is not remembered"; done
    done
    ;;
  identities) identities ;;
esac
