#!/bin/sh
# A rollout that takes a while is waited for twice: one wait lives through the end of the API server, the other is
# interrupted, which leaves the rollout going.
set -eu
. ../lib/wait.sh
server=kube-apiserver-project-a
developers=$(dirname "$KUBECONFIGS")/scratch/developers/$NAMESPACE
said=$developers/said
trap '"$E2E" process start "$server" >&2 || true' EXIT
../lib/datumctl.sh deploy -f slow.yaml --no-wait -n "$NAMESPACE" >&2
../lib/datumctl.sh rollout status slow -n "$NAMESPACE" >"$said" 2>&1 </dev/null &
waits=$!
../lib/datumctl.sh rollout status slow -n "$NAMESPACE" >"$said.interrupted" 2>&1 </dev/null &
interrupted=$!
until grep -q DFW "$said" && grep -q DFW "$said.interrupted"; do again "nothing is said: $(cat "$said" "$said.interrupted")"; done
token=$("$developers/helper" auth get-token)
if tr '\0' '\n' <"/proc/$waits/environ" | grep -F "$token" || tr '\0' '\n' <"/proc/$waits/cmdline" | grep -F "$token"; then
  echo 'others can see the token' >&2
  exit 1
fi
kill -INT "$interrupted"
ended=0
wait "$interrupted" || ended=$?
cat "$said.interrupted" >&2
test "$ended" = 130
"$E2E" process kill "$server" >&2
# It is said that the connection is lost, and nothing is given up.
tries=0
until grep -q 'trying again' "$said"; do again "the end of the server is not told: $(cat "$said")"; done
"$E2E" process start "$server" >&2
ended=0
wait "$waits" || ended=$?
cat "$said" >&2
test "$ended" = 0
../lib/datumctl.sh rollout status slow --watch=false -n "$NAMESPACE" >&2
if grep -F "$token" "$said" "$said.interrupted"; then exit 1; fi
../lib/datumctl.sh destroy slow --yes -n "$NAMESPACE" >&2
