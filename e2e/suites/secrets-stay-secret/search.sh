#!/bin/sh
# Searches for a Secret's content, as it is and in base64, in what fedhub of the management role and of a cell logs, reports
# and holds in memory at rest. Prints where it is; nothing, if it is nowhere.
#
#   search.sh CANARY
set -eu
unset FEDHUB_URL
root=$(dirname "$KUBECONFIGS")
coded=$(printf %s "$1" | base64 -w 0)
# Without what depends on where in a text the canary is.
middle=$(printf %s "$coded" | cut -c 5-40)
fedhub=$(dirname "$E2E")/fedhub
scratch=$root/scratch/secrets-stay-secret
mkdir -p "$scratch"
search() { grep -a -q -F -e "$1" -e "$middle" && echo "the canary is in $2" || true; }

for log in "$root"/logs/fedhub*.log; do search "$1" "$log" <"$log"; done
"$E2E" fedhub metrics | search "$1" 'the metrics'
"$E2E" fedhub metrics --cell dfw | search "$1" "the cell's metrics"
for plane in project-a hub management cell-dfw; do
  kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" get events.events.k8s.io --all-namespaces --output json \
    | search "$1" "the Events of $plane"
done
explained="--namespace $NAMESPACE --plane project-a --management-kubeconfig $root/fedhub/management.yaml"
# shellcheck disable=SC2086
"$fedhub" explain wd web $explained --hub-kubeconfig "$KUBECONFIGS/hub.yaml" --output json 2>&1 | search "$1" 'fedhub explain'
# As an administrator of the planes: fedhub itself may not list all that a snapshot holds.
"$fedhub" snapshot --file "$scratch/snapshot.json" --management-kubeconfig "$root/fedhub/management.yaml" \
  --project-kubeconfig "project-a=$KUBECONFIGS/project-a.yaml" --project-kubeconfig "project-b=$KUBECONFIGS/project-b.yaml" \
  --hub-kubeconfig "$KUBECONFIGS/hub.yaml" >/dev/null || [ $? = 3 ]
search "$1" 'the snapshot' <"$scratch/snapshot.json"
rm -f "$scratch/snapshot.json"

# Each readable and writable part of the memory. At rest: what carried the content is closed within a second or two.
memory() {
  while read -r range access _; do
    case $access in rw*) ;; *) continue ;; esac
    from=$((0x${range%-*} / 4096)) to=$((0x${range#*-} / 4096))
    dd if="/proc/$1/mem" bs=4096 skip="$from" count="$((to - from))" status=none 2>/dev/null || true
  done <"/proc/$1/maps" >"$scratch/core"
  [ "$(wc -c <"$scratch/core")" -gt 1000000 ] || echo "the memory of $2 cannot be read"
  search "$canary" "the memory of $2" <"$scratch/core"
  rm -f "$scratch/core"
}
canary=$1
for process in fedhub fedhub-cell-dfw; do
  # The harness marks what it starts.
  pid=$(grep -l -a -F "FEDHUB_E2E_STATE=$root/fedhub/$process.json" /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\n' | head -n 1)
  attempts=0
  until found=$(memory "$pid" "$process") && [ -z "$found" ] || [ "$attempts" -ge 10 ]; do
    attempts=$((attempts + 1))
    sleep 0.5
  done
  [ -z "$found" ] || echo "$found"
done
