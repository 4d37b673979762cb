#!/bin/sh
# Two WorkloadDeployments share a Secret and are deleted one after the other, again and again: fedhub is killed before the
# first of its writes, then before the second, and so on until it has fewer. Each time the copy stays for the last one, the
# same object with the same content, and goes with it.
#
#   kills.sh FIRST LAST
set -eu
. ../lib/wait.sh
first=$1 last=$2
order=$(dirname "$KUBECONFIGS")/scratch/referenced-data-killed/order
on_hub() { kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" get --ignore-not-found --namespace "$HUB" "$@"; }
copy() { on_hub secret db --output 'jsonpath={.metadata.uid} {.data.password} {.metadata.annotations.compute\.datumapis\.com/referenced-by}'; }
by() { printf '["%s"]' "$(printf "$NAMESPACE/%s\n" "$@" | sort | sed ':a;N;$!ba;s/\n/","/g')"; }
left() { cat "$order"; }

# delete WD: has it deleted, and fedhub started once more where it is killed meanwhile.
delete() {
  kubectl delete --namespace "$NAMESPACE" --wait=false workloaddeployment "$1" >&2
  tries=0
  until [ -z "$(kubectl get --ignore-not-found --namespace "$NAMESPACE" workloaddeployment "$1" --output name)" ]; do
    if [ "$(left)" = 0 ] && [ $killed = no ]; then
      killed=yes
      "$E2E" fedhub start --with=--lease-duration=2s --with=--lease-renew=500ms
    fi
    again "killed before write $write: $1 is not deleted"
  done
}

write=0
while :; do
  write=$((write + 1)) killed=no
  echo 0 >"$order"
  for wd in "$first" "$last"; do sed "s/NAME/$wd/" deployment.yaml | kubectl create --namespace "$NAMESPACE" -f - >&2; done
  tries=0
  until copied=$(copy) && [ "${copied##* }" = "$(by "$first" "$last")" ]; do again "not both are counted: $copied"; done
  "$E2E" fedhub settle
  echo "$write" >"$order"
  delete "$first"
  now=$(copy)
  [ "${now% *}" = "${copied% *}" ] && [ "${now##* }" = "$(by "$last")" ] || {
    echo "killed before write $write: $first is deleted, and the copy is $now, was $copied" >&2
    exit 1
  }
  delete "$last"
  [ -z "$(copy)" ] || { echo "killed before write $write: the copy stays: $(copy)" >&2; exit 1; }
  # The last write may have been the one.
  if [ "$(left)" = 0 ] && [ $killed = no ]; then
    "$E2E" fedhub start --with=--lease-duration=2s --with=--lease-renew=500ms
  elif [ $killed = no ]; then
    break
  fi
done
echo "$write" >&2
[ "$write" -gt 8 ] || { echo "only $((write - 1)) writes were tried" >&2; exit 1; }
