#!/bin/sh
# Restarts what looks after the hub: after a restore its watches resume from versions that the hub has yet to reach, and it
# hears of nothing until then.
set -eu
for name in karmada-controller-manager karmada-scheduler kube-controller-manager-hub; do
  "$E2E" process stop $name
  "$E2E" process start $name
done
