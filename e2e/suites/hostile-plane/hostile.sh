#!/bin/sh
# The hostile server in front of the management plane, which is the plane of project-c (lib/project-c.sh).
#
#   hostile.sh start|end
#   hostile.sh play [KIND ANSWERS]   begins this trick, or ends the last one
#   hostile.sh join                  fedhub meets the plane anew, by a new Secret
#   hostile.sh met COUNT             waits until the trick was played on so many requests
set -eu
. ../lib/wait.sh
scratch=$(dirname "$KUBECONFIGS")/scratch/hostile
met() { curl --silent "$(cat "$scratch/url")"; }
case $1 in
  start)
    rm -rf "$scratch"
    mkdir -p "$scratch"
    "$E2E" hostile --plane management --kubeconfig "$scratch/kubeconfig.yaml" >"$scratch/url" \
      2>"$(dirname "$KUBECONFIGS")/logs/hostile.log" </dev/null &
    echo $! >"$scratch/pid"
    until [ -s "$scratch/url" ]; do again 'the hostile server does not start: logs/hostile.log'; done
    ;;
  play)
    shift
    curl --silent --show-error --fail-with-body --data "$*" "$(cat "$scratch/url")"
    ;;
  join)
    ../lib/project-c.sh delete
    ../lib/project-c.sh create "$scratch/kubeconfig.yaml"
    ;;
  met) until [ "$(met)" -ge "$2" ]; do again "the trick was played on $(met) requests, not $2"; done ;;
  end) kill "$(cat "$scratch/pid")" ;;
esac
