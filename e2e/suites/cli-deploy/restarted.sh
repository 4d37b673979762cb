#!/bin/sh
# Fails unless the first WorkloadDeployment has been restarted, and the second has not.
set -eu
at() { kubectl get --namespace "$NAMESPACE" workloaddeployment "$1" \
  --output 'jsonpath={.spec.template.metadata.annotations.compute\.datumapis\.com/restartedAt}'; }
test -n "$(at "$1")"
test -z "$(at "$2")"
