#!/bin/sh
# Prints the WorkloadDeployment `web` of one Instance that serves at port 8080 of its address where its provider runs its
# command: a program that answers over HTTP and is there wherever suites run. Each start of it writes its PID into the
# file STARTS.
#
#   server.sh STARTS [SETTING]
set -eu
cat <<END
apiVersion: compute.datumapis.com/v1alpha
kind: WorkloadDeployment
metadata:
  name: web
spec:
  cityCode: DFW
  placementName: here
  workloadRef: {name: web, uid: 00000000-0000-4000-8000-000000000000}
  scaleSettings: {minReplicas: 1}
  template:
    spec:
      runtime:
        resources: {instanceType: datumcloud/d1-standard-2}
        sandbox:
          containers:
          - name: app
            image: docker.io/library/nginx:1.29
            command: [/bin/sh, -c]
            args:
            - echo \$\$ >>"$1"; exec "$(dirname "$E2E")/fedhub-region" --listen "\$INSTANCE_ADDRESS:8080"
            env:
            - {name: SETTING, value: "${2:-}"}
      networkInterfaces:
      - network: {name: region}
END
