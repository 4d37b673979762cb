#!/bin/sh
# Prints the order in which the cell's fedhub created and deleted Instances in a namespace of the cell since a time: one
# line `create` or `delete NAME` for each. Rejected requests are left out.
#
#   steps.sh CELL NAMESPACE SINCE
set -eu
"$E2E" writes --plane "$1" --namespace "$2" --since "$3" | sort | awk '
  $5 ~ /^2/ && $4 ~ /\/instances(\?|$)/ && $3 == "create" { print "create" }
  $5 ~ /^2/ && $4 ~ /\/instances\// && $3 == "delete" { sub(/\?.*/, "", $4); sub(/.*\//, "", $4); print "delete", $4 }'
