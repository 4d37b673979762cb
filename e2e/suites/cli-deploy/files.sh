#!/bin/sh
# Workloads of files: several documents from standard input, none of which is sent where one is wrong.
set -eu
document() {
  cat <<END
---
apiVersion: compute.datumapis.com/v1alpha
kind: Workload
metadata: {name: $1}
spec:
  placements:
  - {name: us, cityCodes: [DFW], scaleSettings: {minReplicas: 1}}
  template:
    spec:
      runtime:
        resources: {instanceType: datumcloud/d1-standard-2}
        sandbox:
          containers: [{name: app, $2: docker.io/library/nginx:1.29}]
      networkInterfaces: [{network: {name: default}}]
END
}
{ document one image; document two imagee; } | ../lib/compute.sh 2 'containers\[0\].*imagee' deploy -f -
test -z "$(kubectl get --namespace "$NAMESPACE" --ignore-not-found workload one --output name)"
{ document one image; document two image; } | ../lib/compute.sh 0 'two' deploy -f - --no-wait
test "$(kubectl get --namespace "$NAMESPACE" workload one two --output name | wc -l)" = 2
# It waits for what is under way.
../lib/compute.sh 0 'one' rollout status one
../lib/compute.sh 0 'two' rollout two
../lib/compute.sh 0 'one' destroy one --yes --no-wait
../lib/compute.sh 0 'two' destroy two -y
