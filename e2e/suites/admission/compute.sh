#!/bin/sh
# Refusals as the users' command line tells them: by the flag, or by the document and the field; nothing is stored.
set -eu
sample=../../../deploy/samples/minimal.yaml

# says CODE WORDS ARGUMENT...: it ends with that code, and says that.
says() {
  code=$1 words=$2
  shift 2
  said=$("$(dirname "$E2E")/datumctl-compute" deploy --kubeconfig "$KUBECONFIGS/project-a.yaml" --namespace "$NAMESPACE" \
    "$@" 2>&1) && ended=0 || ended=$?
  [ "$ended" = "$code" ] && printf '%s\n' "$said" | grep -F -e "$words" >/dev/null && return
  echo "deploy $*: exit code $ended, not $code, or not: $words"
  echo "$said"
  exit 1
}

image=registry.example/web:1
web() { says "$@" web --image "$image" --no-save; }
web 1 '--min: invalid value: "5000"' --city DFW --min 5000 --instance-type huge
web 1 '--instance-type: unsupported value: "huge"' --city DFW --min 5000 --instance-type huge
web 1 '--max: invalid value: "9"' --city DFW --max 9
web 2 '--max: 9 is less than the minimum, 10' --city DFW --min 10 --max 9
web 1 '--http-port: invalid value: 70000' --city DFW --http-port 70000
image=nginx
web 0 'Warning: container "app": image "nginx" names no registry' --city DFW --dry-run=server
image=registry.example/web:1
two() { cat $sample; echo ---; sed -e 's/name: minimal/name: second/' -e 's/minReplicas: 1/minReplicas: 2000/' $sample; }
two | says 1 'document 2: spec.placements[0].scaleSettings.minReplicas: invalid value: "2000"' -f -
sed 's/image:/imgae:/' $sample | says 2 'containers[0].imgae: there is no such field: did you mean image?' -f -
[ -z "$(kubectl get --namespace "$NAMESPACE" workloads --output name | grep -e /web -e /second -e /minimal)" ]
# Replaced twice, and by what changes nothing not at all.
web 0 'web is new' --city DFW,ORD --env LEVEL=info --no-wait
web 2 'web leaves ORD' --city DFW
web 0 'web changes' --min 2 --no-wait
generation() { kubectl get --namespace "$NAMESPACE" workload web --output 'jsonpath={.metadata.generation}'; }
before=$(generation)
web 0 'nothing changes' --env LEVEL=info --no-wait
kubectl get --namespace "$NAMESPACE" workload web --output yaml | says 0 'nothing changes' -f - --no-wait
[ "$(generation)" = "$before" ] || { echo 'it was written, and nothing had changed'; exit 1; }
kubectl delete --namespace "$NAMESPACE" workload web
