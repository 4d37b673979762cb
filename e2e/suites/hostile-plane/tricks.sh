#!/bin/sh
# Plays tricks, one after the other, and times changes of project-a meanwhile: as many without a trick before each one.
#
#   tricks.sh 'KIND ANSWERS'...
set -eu
scratch=$(dirname "$KUBECONFIGS")/scratch/hostile
# Of 30 WDs and 14 tricks, so that both series have 420 changes, and their p99 is not the slowest one.
time_changes() { "$E2E" propagation measure --plane project-a --namespace "$NAMESPACE-other" >>"$scratch/$1"; }
for trick in "$@"; do
  ./hostile.sh play
  ./hostile.sh join
  ../lib/engaged.sh 3
  time_changes without
  # shellcheck disable=SC2086
  ./hostile.sh play $trick
  ./hostile.sh join
  # Both replicas meet the plane.
  ./hostile.sh met 2
  time_changes with
  ./replicas.sh live
  curl --silent --fail "$FEDHUB_URL/readyz" || { echo "fedhub is not ready: $trick" >&2; exit 1; }
done
