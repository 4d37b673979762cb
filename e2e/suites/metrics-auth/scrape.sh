#!/bin/sh
# Scrapes fedhub over HTTPS, at the address that it bound.
#
#   scrape.sh code LOG [curl's arguments]              prints the code of the answer
#   scrape.sh await CODE LOG [curl's arguments]        waits for that code
#   scrape.sh reviews PLANE ACCOUNT                    prints how many reviews that account asked the plane for
#
# LOG is the name of fedhub's log: fedhub or fedhub-cell-dfw.
set -eu
scratch=$(dirname "$KUBECONFIGS")/scratch/metrics-auth
mkdir -p "$scratch"
code() {
  log=$(dirname "$FEDHUB_LOG")/$1.log
  shift
  bound=$(grep -F 'serving metrics over HTTPS' "$log" | tail -n 1 | sed 's/.*bound=\([0-9.:]*\).*/\1/')
  curl --silent --output "$scratch/body" --write-out '%{http_code}' "$@" "https://$bound/metrics" || echo " $?"
}
case $1 in
  code) shift && code "$@" ;;
  await)
    expected=$2
    shift 2
    . "$(dirname "$0")/../lib/wait.sh"
    until got=$(code "$@") && [ "$got" = "$expected" ]; do
      again "expected $expected, got $got: $(cat "$scratch/body" 2>/dev/null || true)"
    done
    if [ "$expected" = 200 ]; then grep -q '^fedhub_build_info' "$scratch/body"; fi
    ;;
  reviews)
    grep -F "\"username\":\"system:serviceaccount:$3\"" "$(dirname "$KUBECONFIGS")/audit/$2.log" |
      grep -cE '"requestURI":"/apis/(authentication|authorization).k8s.io/v1/(token|subjectaccess)reviews' || true
    ;;
esac
