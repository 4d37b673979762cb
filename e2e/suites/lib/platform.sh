#!/bin/sh
# Simulates a platform as a project's users reach it: the developer of a namespace (developer.sh) has an account on
# project-a and on the management plane, and a gateway serves the planes of projects by their paths. The credentials helper
# hands out an expired token first wherever the file `expired` is beside it.
#
#   platform.sh start NAMESPACE PROJECT=PLANE...
#   platform.sh end NAMESPACE
set -eu
here=$(dirname "$0")
. "$here/wait.sh"
command=$1 namespace=$2
shift 2
developers=$(dirname "$KUBECONFIGS")/scratch/developers/$namespace
if [ "$command" = end ]; then
  kill "$(cat "$developers/gateway.pid")"
  exit
fi
"$here/developer.sh" project-a "$namespace"
kubectl --kubeconfig "$KUBECONFIGS/management.yaml" create namespace "$namespace" >&2
"$here/developer.sh" management "$namespace"
for project in "$@"; do set -- "$@" --project "$project"; shift; done
"$E2E" gateway --callers "$developers" --kubeconfig "$developers/gateway.yaml" "$@" \
  >"$(dirname "$KUBECONFIGS")/logs/gateway-$namespace.log" 2>&1 </dev/null &
echo $! >"$developers/gateway.pid"
until [ -e "$developers/gateway.yaml" ]; do again "the gateway does not serve: logs/gateway-$namespace.log"; done
cat >"$developers/helper" <<END
#!/bin/sh
# As datumctl's own: the token and nothing else.
[ "\$*" = 'auth get-token' ] || exit 64
if [ -e '$developers/expired' ]; then rm '$developers/expired'; printf expired; exit; fi
printf '%s' '$(jq --raw-output '.users[0].user.token' "$developers/management.yaml")'
END
chmod 700 "$developers/helper"
