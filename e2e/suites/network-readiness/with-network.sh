#!/bin/sh
# Prints a WorkloadDeployment that uses a network.
#
#   with-network.sh NETWORK NAME
set -eu
sed -e '/^#/d' -e "s/(\$wd)/$2/" -e 's/(\$city)/DFW/' -e "s/name: default/name: $1/" ../lib/deployment.yaml
