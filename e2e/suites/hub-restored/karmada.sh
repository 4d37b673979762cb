#!/bin/sh
# Restarts the controllers of the hub: after a restore their watches resume from resourceVersions that the hub has yet
# to reach, and they receive no events until then.
set -eu
for name in karmada-controller-manager karmada-scheduler kube-controller-manager-hub; do
  "$E2E" process stop $name
  "$E2E" process start $name
done
