#!/bin/sh
# Prints a WorkloadDeployment in DFW on that network, with both address families, and a fault of the network service.
#
#   deployment.sh NAME REPLICAS NETWORK [FAULT]
set -eu
cat <<END
apiVersion: compute.datumapis.com/v1alpha
kind: WorkloadDeployment
metadata: {name: $1}
spec:
  cityCode: DFW
  placementName: here
  workloadRef: {name: web, uid: 00000000-0000-4000-8000-000000000000}
  scaleSettings: {minReplicas: $2}
  template:
    metadata:
      annotations: {${4:+simulate.fedhub.dev/fault: $4}}
    spec:
      runtime:
        resources: {instanceType: datumcloud/d1-standard-2}
        sandbox:
          containers:
          - {name: app, image: "docker.io/library/nginx:1.29"}
      networkInterfaces:
      - network: {name: $3}
        ipFamilies: [IPv4, IPv6]
END
