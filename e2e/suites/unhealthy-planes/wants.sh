#!/bin/sh
# Prints the objects of the users of a plane, which each.sh selects: its namespace and a WorkloadDeployment in it.
set -eu
cat <<END
---
apiVersion: v1
kind: Namespace
metadata:
  name: $SPACE
---
END
sed -e '/^#/d' -e 's/(\$wd)/web/' -e 's/(\$city)/DFW/' \
  -e "s/^metadata:/&\n  namespace: $SPACE\n  labels: {example.com\/suite: $NAMESPACE}/" ../lib/deployment.yaml
