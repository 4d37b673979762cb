#!/bin/sh
# Replaces leaf and CA under a stream of creates, 50 a second where the machine makes as many, and fails if one was refused.
# Each replacement has its share of them: what counts is their number, and not the time that they took.
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
workers=5
pace=50
now() { date +%s%3N; }
# Each has its turn every so many milliseconds, and makes up for turns that it missed.
load() {
  number=0
  began=$(now)
  while [ ! -e "$scratch/done" ]; do
    number=$((number + 1))
    left=$((began + number * 1000 * workers / pace - $(now)))
    [ $left -le 0 ] || sleep "0.$(printf %03d $left)"
    sed "s/\"NAME\"/\"load-$1-$number\"/" "$scratch/load.json" |
      curl --silent --output "$scratch/answer.$1" --write-out '%{http_code}\n' --header 'Content-Type: application/json' \
        --data-binary @- "$at?dryRun=All" >"$scratch/code.$1"
    cat "$scratch/code.$1" >>"$scratch/codes.$1"
    grep -q '^201$' "$scratch/code.$1" || cat "$scratch/answer.$1" >>"$scratch/codes.$1"
  done
}
started=$(now)
for worker in $(seq $workers); do
  load "$worker" &
  loads="$loads $!"
done
created() { cat "$scratch"/codes.* 2>/dev/null | grep -c '^201$' || true; }
more() { tries=0; goal=$(($(created) + $1)); until [ "$(created)" -ge "$goal" ]; do again "$(created) of $goal created"; done; }
reloads() { curl --silent "$FEDHUB_URL/metrics" | awk '/^fedhub_credentials_reloads_total\{credentials="webhook"\}/ { print $2 }'; }
# By a handshake of its own: the API server's connections go on with what they began with.
bound=$(grep -F 'answering admission reviews' "$FEDHUB_LOG" | tail -n 1 | sed 's/.*bound=\([0-9.:]*\).*/\1/')
serial() { openssl x509 -noout -serial; }
served() { openssl s_client -connect "$bound" </dev/null 2>/dev/null | serial; }
serves() {
  tries=0
  expected=$(serial <"$1/tls.crt")
  until shown=$(served) && [ "$shown" = "$expected" ]; do again "a new connection is shown ${shown:-nothing}, not $expected of $1"; done
}
rotate() {
  before=$(reloads)
  ../lib/admission.sh serve "$1"
  tries=0
  until [ "$(reloads)" -gt "${before:-0}" ]; do again "$1 is not served: $(reloads)"; done
  serves "$1"
}

more 100
serves "$scratch/first/1"
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
serves "$scratch/second/1"
more 100
took=$(($(now) - started))
total=$(created)
touch "$scratch/done"
for pid in $loads; do wait "$pid"; done
loads=
bad=$(grep -v '^201$' "$scratch"/codes.* || true)
[ -z "$bad" ] || { printf '%s\n' "$bad" | head -n 20 >&2; exit 1; }
echo "$total created in $took ms, none refused"
