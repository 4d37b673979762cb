#!/bin/sh
# Has the hub and the project ask about each write of fedhub, and waits until both do.
#
#   ask.sh start
#   ask.sh end
set -eu
. ../lib/wait.sh
scratch=$(dirname "$KUBECONFIGS")/scratch/referenced-data-killed
on() { plane=$1; shift; kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" "$@"; }
if [ "$1" = end ]; then
  for plane in hub project-a; do
    on $plane delete --ignore-not-found validatingwebhookconfiguration fedhub-e2e-kills
  done
  [ ! -e "$scratch/pid" ] || kill "$(cat "$scratch/pid")" || true
  rm -rf "$scratch"
  exit 0
fi
mkdir -p "$scratch"
"$E2E" killer --order "$scratch/order" >"$scratch/url" 2>"$(dirname "$KUBECONFIGS")/logs/killer.log" </dev/null &
echo $! >"$scratch/pid"
until url=$(grep https "$scratch/url"); do again "it does not serve: logs/killer.log"; done
for plane in hub project-a; do
  bundle=$(on $plane config view --raw --output 'jsonpath={.clusters[0].cluster.certificate-authority-data}')
  on $plane apply --server-side -f - <<END
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: fedhub-e2e-kills
webhooks:
- name: kills.fedhub.dev
  clientConfig: {url: "$url", caBundle: "$bundle"}
  rules:
  - apiGroups: ["*"]
    apiVersions: ["*"]
    operations: [CREATE, UPDATE, DELETE]
    resources: ["*/*"]
  failurePolicy: Ignore
  sideEffects: None
  admissionReviewVersions: [v1]
  matchConditions:
  - name: fedhub
    expression: request.userInfo.username == 'system:serviceaccount:fedhub-system:fedhub'
  - name: a-write
    expression: "!(has(request.dryRun) && request.dryRun) && !(request.resource.resource in ['leases', 'events'])"
  - name: of-the-suite
    expression: has(request.namespace) && request.namespace in ['$NAMESPACE', '$HUB']
END
  # An API server takes new webhooks up when its watch has shown them: a write that fedhub repairs is asked about then.
  echo 1000000 >"$scratch/order"
  tries=0
  while [ "$(cat "$scratch/order")" = 1000000 ]; do
    case $plane in
      hub) on hub patch --namespace "$HUB" workloaddeployment probe --type=merge --patch '{"spec":{"scaleSettings":{"minReplicas":1}}}' ;;
      *) on $plane annotate --namespace "$NAMESPACE" workloaddeployment probe compute.datumapis.com/federation-namespace- ;;
    esac >&2
    again "$plane does not ask"
  done
done
