#!/bin/sh
# Runs the commands of docs/migrate.md below a heading, in a directory of their own.
#
#   commands.sh HEADING
set -eu
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(dirname "$KUBECONFIGS")/scratch/migrate
. "$here/../lib/contexts.sh"
contexts "$scratch"
"$here/../lib/document.sh" migrate.md "$1" >"$scratch/commands"
grep -q '^ *kubectl ' "$scratch/commands"
cd "$scratch"
sh -eux commands
