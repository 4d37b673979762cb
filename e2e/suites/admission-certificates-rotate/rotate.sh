#!/bin/sh
# Replaces leaf and CA while Workloads are created, and fails if one of those was refused.
set -eu
. ../lib/wait.sh
scratch=$(dirname "$KUBECONFIGS")/scratch/webhooks
proxy_pid=
loads=
finish() {
  touch "$scratch/done"
  for pid in $loads $proxy_pid; do kill "$pid" 2>/dev/null || true; done
}
trap finish EXIT
rm -f "$scratch/done" "$scratch"/codes.*

# One connection for all of them: what is measured is the server's side.
kubectl proxy --port=0 >"$scratch/proxy" 2>&1 &
proxy_pid=$!
until grep -q 'Starting to serve' "$scratch/proxy"; do again 'no proxy'; done
at=http://$(sed -n 's/.*Starting to serve on //p' "$scratch/proxy")/apis/compute.datumapis.com/v1alpha/namespaces/$NAMESPACE/workloads
kubectl patch --local --type=json --output json -f ../../../deploy/samples/minimal.yaml \
  --patch '[{"op": "replace", "path": "/metadata/name", "value": "NAME"}]' >"$scratch/load.json"
load() {
  number=0
  while [ ! -e "$scratch/done" ]; do
    number=$((number + 1))
    sed "s/\"NAME\"/\"load-$1-$number\"/" "$scratch/load.json" |
      curl --silent --output "$scratch/answer.$1" --write-out '%{http_code}\n' --header 'Content-Type: application/json' \
        --data-binary @- "$at?dryRun=All" >>"$scratch/codes.$1"
    tail -n 1 "$scratch/codes.$1" | grep -q '^201$' || cat "$scratch/answer.$1" >>"$scratch/codes.$1"
  done
}
for worker in 1 2 3 4; do
  load $worker &
  loads="$loads $!"
done
created() { cat "$scratch"/codes.* 2>/dev/null | grep -c '^201$' || true; }
more() { tries=0; goal=$(($(created) + $1)); until [ "$(created)" -ge "$goal" ]; do again "$(created) of $goal created"; done; }
reloads() { curl --silent "$FEDHUB_URL/metrics" | awk '/^fedhub_credentials_reloads_total\{credentials="webhook"\}/ { print $2 }'; }
rotate() {
  before=$(reloads)
  ../lib/admission.sh serve "$1"
  tries=0
  until [ "$(reloads)" -gt "${before:-0}" ]; do again "$1 is not served: $(reloads)"; done
}

more 100
rotate "$scratch/first/2"
more 100
"$E2E" certificates "$scratch/second" --count 1
# Both CAs are trusted before the new one signs, and the old one goes when it signs nothing any more.
../lib/admission.sh ask project-a "$scratch/first/ca.crt" "$scratch/second/ca.crt"
more 50
rotate "$scratch/second/1"
more 100
../lib/admission.sh ask project-a "$scratch/second/ca.crt"
more 100
# A key that does not fit changes nothing.
cp "$scratch/first/1/tls.key" "$scratch/tls.key"
../lib/await-log.sh 'failed to reload the serving certificate'
more 100
touch "$scratch/done"
for pid in $loads; do wait "$pid"; done
loads=
bad=$(grep -v '^201$' "$scratch"/codes.* || true)
[ -z "$bad" ] || { printf '%s\n' "$bad" | head -n 20 >&2; exit 1; }
echo "$(created) created, none refused"
