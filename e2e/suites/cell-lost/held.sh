#!/bin/sh
# Waits until the cells have the expected copies, claims or states.
#
#   held.sh copies HUB_NAMESPACE "CELL..."   the copies on the hub are of these cells, one word for each, sorted
#   held.sh claims "CELL..."                 the same for the claims in the project namespace
#   held.sh cells CODE CELL STATE COPIES     `fedhub cells` exits with that code (- for any) and shows this cell in that
#                                            state, with at least so many copies
#   held.sh give-up CELL =TIME|-             declares its cluster lost to the hub's policies, or withdraws that
set -eu
. "$(dirname "$0")/../lib/wait.sh"
hub() { kubectl --kubeconfig "$KUBECONFIGS/hub.yaml" "$@"; }
case $1 in
  copies)
    until
      # shellcheck disable=SC2016
      seen=$(hub get --namespace "$2" instances \
        -o 'jsonpath={range .items[*]}{.metadata.annotations.federation\.datumapis\.com/cell-source}{"\n"}{end}' \
        | sed '/^$/d; s,/.*,,' | sort | tr '\n' ' ')
      [ "$seen" = "$3 " ]
    do again "copies of $3 expected, and there are those of: $seen"; done
    ;;
  give-up)
    uid=$(hub get --namespace fedhub-cells configmap fedhub-cells -o "jsonpath={.data.$2}")
    hub annotate --overwrite --namespace fedhub-cells configmap fedhub-cells "lost.federation.datumapis.com/${uid#*/}$3"
    ;;
  claims)
    until
      # shellcheck disable=SC2016
      seen=$(kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" get --namespace "$NAMESPACE" resourceclaims.quota.miloapis.com \
        -o 'jsonpath={range .items[*]}{.metadata.labels.compute\.datumapis\.com/source-cluster}{"\n"}{end}' \
        | sed '/^$/d' | sort | tr '\n' ' ')
      [ "$seen" = "$2 " ]
    do again "claims of $2 expected, and there are those of: $seen"; done
    ;;
  cells)
    until
      code=0
      seen=$("$(dirname "$E2E")/fedhub" cells --hub-kubeconfig "$KUBECONFIGS/hub.yaml") || code=$?
      case $2 in - | "$code") true ;; *) false ;; esac && echo "$seen" | awk -v cell="$3" -v state="$4" -v copies="$5" '
        $1 == cell && $3 == state { n = $4 == "since" ? $7 : $5; found = n >= copies } END { exit !found }'
    do again "$3 is not $4 with $5 copies; exit code $code:
$seen"; done
    ;;
esac
