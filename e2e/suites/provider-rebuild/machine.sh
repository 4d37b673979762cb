#!/bin/sh
# Prints the WorkloadDeployment `web` of one virtual machine with a boot disk of IMAGE.
#
#   machine.sh IMAGE [DISRUPTION]
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
      ${2:+disruption: $2}
      runtime:
        resources: {instanceType: datumcloud/d1-standard-2}
        virtualMachine:
          volumeAttachments: [{name: boot}]
      volumes:
      - name: boot
        disk:
          template:
            spec:
              type: pd-standard
              populator: {image: {name: $1}}
      networkInterfaces:
      - network: {name: region}
END
