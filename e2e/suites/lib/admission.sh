#!/bin/sh
# Has project planes ask fedhub about what users write, as docs/admission.md says.
#
#   admission.sh start                  makes a CA and a certificate, and starts fedhub with the component webhooks
#   admission.sh serve DIRECTORY        has fedhub serve the certificate in that directory from now on
#   admission.sh ask PLANE CA...        has the plane ask fedhub and trust these CAs, and waits until it does
#   admission.sh types CA...            has the management plane ask fedhub about types of instances, and waits until it does
#   admission.sh end PLANE...           undoes it all
set -eu
dir=$(cd "$(dirname "$0")" && pwd)
deploy=$dir/../../../deploy
scratch=$(dirname "$KUBECONFIGS")/scratch/webhooks
secret() { kubectl --kubeconfig "$KUBECONFIGS/management.yaml" --namespace fedhub-system "$@"; }
. "$dir/wait.sh"
bound() { grep -F 'answering admission reviews' "$FEDHUB_LOG" | tail -n 1 | sed 's/.*bound=\([0-9.:]*\).*/\1/'; }
# The manifests of a component, with fedhub's address and these CAs.
manifests() {
  component=$1
  shift
  kubectl kustomize "$deploy/components/$component" |
    sed -e "s|fedhub.example.com:9443|$(bound)|" -e "s|caBundle: Cg==|caBundle: $(cat "$@" | base64 | tr -d '\n')|"
}
case $1 in
  start)
    rm -rf "$scratch"
    "$E2E" certificates "$scratch/first" --count 2 --plane project-b
    cp "$scratch/first/1/tls.crt" "$scratch/first/1/tls.key" "$scratch"
    # The planes' API servers show certificates of the instance's CA, and a suite those of its own.
    cat "$(dirname "$KUBECONFIGS")/pki/ca.crt" "$scratch/first/ca.crt" >"$scratch/ca.crt"
    secret delete --ignore-not-found secret fedhub-webhook-tls
    secret create secret generic fedhub-webhook-tls --from-file="$scratch/tls.crt" --from-file="$scratch/tls.key" \
      --from-file="$scratch/ca.crt"
    "$E2E" fedhub start --component=webhooks
    ;;
  serve)
    # As a kubelet does not: one file after the other, so that for a moment they do not fit together.
    cp "$2/tls.crt" "$scratch/tls.crt"
    sleep 0.3
    cp "$2/tls.key" "$scratch/tls.key"
    ;;
  ask)
    plane=$2
    shift 2
    export KUBECONFIG="$KUBECONFIGS/$plane.yaml"
    manifests webhooks-project-plane "$@" | sed -e "s|/PLANE/|/$plane/|" |
      kubectl apply --server-side --force-conflicts -f -
    # An API server takes new webhooks up when its watch has shown them.
    until sed 's/minReplicas: 1/minReplicas: 1001/' "$deploy/samples/minimal.yaml" |
      kubectl create --namespace default --dry-run=server -f - 2>&1 | grep -q 'must be a number from 0 to 1000'; do
      again "$plane does not ask fedhub"
    done
    ;;
  types)
    shift
    export KUBECONFIG="$KUBECONFIGS/management.yaml"
    manifests webhooks-instance-types "$@" | kubectl apply --server-side --force-conflicts -f -
    until sed -e 's/name: .*/name: probe/' -e 's/cpu: .*/cpu: "0"/' "$deploy/samples/instancetype.yaml" |
      kubectl create --dry-run=server -f - 2>&1 | grep -q 'spec.resources.cpu'; do
      again 'the management plane does not ask fedhub'
    done
    ;;
  end)
    shift
    kubectl --kubeconfig "$KUBECONFIGS/management.yaml" delete --ignore-not-found -k "$deploy/components/webhooks-instance-types"
    for plane in "$@"; do
      kubectl --kubeconfig "$KUBECONFIGS/$plane.yaml" delete --ignore-not-found -k "$deploy/components/webhooks-project-plane"
    done
    "$E2E" fedhub restart
    secret delete --ignore-not-found secret fedhub-webhook-tls
    ;;
esac
