#!/bin/sh
# Waits until a WorkloadDeployment has been the same object for three seconds, neither deleted nor recreated.
#
#   await-still.sh NAMESPACE NAME
set -eu
uid='' same=0
while [ $same -lt 6 ]; do
  now=$(kubectl get --namespace "$1" workloaddeployment "$2" -o 'jsonpath={.metadata.uid}' 2>/dev/null || true)
  if [ -n "$now" ] && [ "$now" = "$uid" ]; then same=$((same + 1)); else uid=$now same=0; fi
  sleep 0.5
done
