#!/bin/sh
# The two replicas of fedhub, within the memory of their Deployment.
#
#   replicas.sh start   starts both anew; the first one leads
#   replicas.sh live    fails unless both still run since then, the first one leads, and neither ever took more memory
#   replicas.sh end
set -eu
scratch=$(dirname "$KUBECONFIGS")/scratch/replicas
# What a container may have, in bytes.
limit=$(kubectl create --dry-run=client --filename ../../../deploy/base/deployment.yaml \
  --output 'jsonpath={.spec.template.spec.containers[0].resources.limits.memory}' | numfmt --from=iec-i)
pids() { echo "$("$E2E" fedhub pid) $("$E2E" fedhub pid --second)"; }
end() {
  "$E2E" fedhub stop --second
  "$E2E" fedhub stop
}
case $1 in
  start)
    end
    # The kernel limits what is mapped, a container what is touched. At rest a replica has mapped 34 MiB more than it has
    # touched: stacks of threads, and what the allocator keeps.
    ulimit -d $((limit / 1024 + 34 * 1024))
    "$E2E" fedhub start
    "$E2E" fedhub start --second
    ../lib/leads.sh first
    pids >"$scratch"
    ;;
  live)
    [ "$(pids)" = "$(cat "$scratch")" ] || { echo "fedhub ran as $(cat "$scratch"), now as $(pids)" >&2; exit 1; }
    ../lib/leads.sh first
    for pid in $(pids); do
      peak=$(awk '/^VmHWM:/ { print $2 * 1024 }' "/proc/$pid/status")
      echo "process $pid took at most $peak bytes"
      [ "$peak" -le "$limit" ] || { echo "more than the Deployment's $limit" >&2; exit 1; }
    done
    ;;
  end) end ;;
esac
