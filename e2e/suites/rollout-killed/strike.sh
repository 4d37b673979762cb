#!/bin/sh
# Rolls an image out over the four cities, kills a process once CITY has had its turn for so many milliseconds, starts it
# again, and waits until all cities run the image. Verifies that they got it in order and one at a time; a city whose cell
# counts as away for a moment takes nobody's place, so that there may be two then.
#
#   strike.sh NAMESPACE IMAGE fedhub|cell|apiserver|karmada CITY MILLISECONDS
set -eu
lib=$(dirname "$0")/../lib
. "$lib/wait.sh"
namespace=$1 image=$2 victim=$3 city=$4 delay=$5
most=1
echo "$image: kills $victim when $city has had its turn for $delay ms"
"$lib/turns.sh" "$namespace" start
"$lib/image.sh" "$namespace" "$image"
until kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" get --namespace "$namespace" workloaddeployment "web-us-$city" \
  --output yaml | grep -qF "image: $image"; do again "$city does not get its turn"; done
# The moment is drawn: nothing is awaited by it.
sleep "$((delay / 1000)).$(printf %03d $((delay % 1000)))"
case $victim in
  fedhub)
    "$E2E" fedhub kill
    "$E2E" fedhub start
    ;;
  cell)
    "$E2E" fedhub kill --cell "$city"
    "$E2E" fedhub start --cell "$city"
    ;;
  apiserver)
    most=2
    "$E2E" process kill "kube-apiserver-cell-$city"
    "$E2E" process start "kube-apiserver-cell-$city"
    ;;
  karmada)
    "$E2E" process kill karmada-controller-manager
    "$E2E" process start karmada-controller-manager
    ;;
esac
"$lib/carries.sh" "$namespace" 2 "$image" web-us-ord web-us-dfw web-us-sjc web-us-ams
"$lib/turns.sh" "$namespace" end "$most" "$image" web-us-ord web-us-dfw web-us-sjc web-us-ams
