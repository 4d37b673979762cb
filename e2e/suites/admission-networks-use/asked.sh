#!/bin/sh
# What fedhub asked project-a about eve: the request as the plane's audit log has it.
set -eu
. "$(dirname "$0")/../lib/wait.sh"
log=$(dirname "$KUBECONFIGS")/audit/project-a.log
review() {
  grep -F '"username":"system:serviceaccount:fedhub-system:fedhub"' "$log" | grep -F subjectaccessreviews |
    grep -F "\"namespace\":\"$NAMESPACE\"" | tail -n 1
}
until [ -n "$(review)" ]; do again "no review in $log"; done
for part in '"user":"eve"' '"uid":"uid-of-eve"' '"groups":["shop","net"' \
  '"extra":{"example.com/team":["shop","night"]}' '"verb":"use"' '"group":"networking.datumapis.com"' \
  '"resource":"networks"' '"name":"default"'; do
  review | grep -qF "$part" || { echo "no $part: $(review)" >&2; exit 1; }
done
