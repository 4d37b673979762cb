#!/bin/sh
# What operators see of a plane and of a WorkloadDeployment of the suite's namespace that is in sync, with the flags of a
# discovery.
#
#   commands.sh PLANE WD FLAG...
set -eu
here=$(dirname "$0")
. "$here/wait.sh"
plane=$1 wd=$2
shift 2
"$here/operator.sh" planes "$@" -o json >&2
"$here/operator.sh" planes "$@" | awk -v plane="$plane" '$1 == plane && $NF == "-" { found = 1 } END { exit !found }'
until
  explained=$("$here/operator.sh" explain wd "$wd" -n "$NAMESPACE" --plane "$plane" "$@" -o json) &&
    printf '%s\n' "$explained" | grep -q '"cause": "in-sync"'
do again "$explained"; done
until
  audited=$("$here/operator.sh" audit --plane "$plane" --grace=0s "$@") &&
    printf '%s\n' "$audited" | grep -q '^1 plane read, 0 not read; 0 problems'
do again "$audited"; done
# A name that no plane has is not paused.
if refused=$("$here/operator.sh" pause --plane misspelt "$@" 2>&1); then exit 1; fi
printf '%s\n' "$refused" | grep -q 'no plane is named misspelt'
