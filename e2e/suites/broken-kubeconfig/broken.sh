#!/bin/sh
# Creates Secrets with kubeconfigs that are invalid in various ways, and waits for the Event on each.
set -eu
. ../lib/wait.sh
kubectl() { command kubectl --kubeconfig "$KUBECONFIGS/management.yaml" --namespace fedhub-system "$@"; }
secret=never-to-be-logged

kubeconfig() { # SERVER-AND-MORE USER
  printf '%s\n' "apiVersion: v1" "kind: Config" "current-context: c" "contexts:" "- name: c" \
    "  context: {cluster: c, user: u}" "clusters:" "- name: c" "  cluster: {$1}" "users:" "- name: u" "  user: {$2}"
}

broken() { # NAME WORDS, and the kubeconfig on standard input
  name=$NAMESPACE-$1 tries=0
  kubectl create -f - <<END
apiVersion: v1
kind: Secret
metadata:
  name: $name
  labels: {federation.datumapis.com/plane: project, e2e-namespace: $NAMESPACE}
data:
  kubeconfig: $(base64 -w 0)
END
  said() { kubectl get events --field-selector "involvedObject.name=$name,reason=PlaneRefused" -o jsonpath='{.items[*].message}'; }
  until said | grep --quiet "$2"; do again "$name: $(said)"; done
  if said | grep "$secret"; then echo "the Event holds what is secret" >&2; exit 1; fi
}

server="server: 'https://127.0.0.1:1'"
kubeconfig "$server" "token: [$secret]" | broken yaml "not valid YAML of that form at line 12"
kubeconfig "$server" "token: $secret" | sed "s/^users:/users/" | broken cut "not valid YAML"
kubeconfig "$server, proxy-url: 'http://$secret:$secret@proxy:3128/$secret'" "token: $secret" | broken proxy 'proxy-url "http://proxy:3128" is not supported'
kubeconfig "$server" "exec: {apiVersion: client.authentication.k8s.io/v1, command: $secret}" | broken exec "exec is refused"
kubeconfig "$server" "token: \"$secret\\n$secret\"" | broken token "token holds characters that no request can carry"
kubeconfig "$server, certificate-authority-data: '$secret'" "token: $secret" | broken authority "certificate authority"
