#!/bin/sh
# Asks fedhub as the API servers of two planes, and as whoever shows no certificate: each plane is answered about itself alone.
set -eu
instance=$(dirname "$KUBECONFIGS")
scratch=$instance/scratch/webhooks
bound=$(grep -F 'answering admission reviews' "$FEDHUB_LOG" | tail -n 1 | sed 's/.*bound=\([0-9.:]*\).*/\1/')
# What is answered to a review without a request: 400 by whom it is read, 403 where the certificate is another plane's, and 000
# where there is no connection.
answers() {
  expected=$1
  plane=$2
  shift 2
  got=$(curl --silent --output "$scratch/answer" --write-out '%{http_code}' --cacert "$scratch/first/ca.crt" "$@" \
    --data '{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}' \
    "https://$bound/planes/$plane/validate-compute-datumapis-com-v1alpha-workload" || true)
  [ "$got" = "$expected" ] || { echo "$plane by $*: $got, not $expected" >&2; exit 1; }
}
own="--cert $instance/pki/webhooks-project-a.crt --key $instance/pki/webhooks-project-a.key"
other="--cert $scratch/first/planes/project-b.crt --key $scratch/first/planes/project-b.key"
# shellcheck disable=SC2086 # Two options each.
{
  answers 400 project-a $own
  answers 403 project-b $own
  answers 400 project-b $other
  answers 403 project-a $other
  grep -F 'it needs the URI fedhub://planes/project-a' "$scratch/answer"
  answers 403 project-c $other
}
answers 000 project-a
