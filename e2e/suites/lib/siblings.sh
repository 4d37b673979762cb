#!/bin/sh
# Creates WorkloadDeployments one right after the other, with one request each. $KUBECONFIG is the project plane's.
#
#   siblings.sh CITY NAME...
#
# $FUTURE: the value of a field `future` in the spec, as YAML on one line.
set -eu
city=$1
shift
for name in "$@"; do
  echo ---
  sed ${FUTURE:+-e "s/^spec:/spec:\n  future: $FUTURE/"} -e '/^#/d' -e "s/(\$wd)/$name/" -e "s/(\$city)/$city/" "$(dirname "$0")/deployment.yaml"
done | kubectl create --namespace "${SPACE:-$NAMESPACE}" -f -
