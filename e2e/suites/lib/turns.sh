#!/bin/sh
# Watches the WorkloadDeployments of a namespace on project-a, and verifies in which order they got an image, and how many had
# it at once without being complete on it. One is complete when it reports on its newest generation that all Instances that it
# is to have are updated and ready.
#
#   turns.sh NAMESPACE start
#   turns.sh NAMESPACE end MOST IMAGE WD...    exactly these got it, in this order, those with + between them in any order; no
#                                              more than MOST were incomplete at a time
#   turns.sh NAMESPACE gap SECONDS IMAGE WD NEXT
#                                              NEXT got it so many seconds after WD was complete on it, or later
#   turns.sh NAMESPACE together IMAGE WD...    exactly these got it, and more than one was incomplete at a time
set -eu
file=$(dirname "$KUBECONFIGS")/scratch/turns-$1
container='{.object.spec.template.spec.runtime.sandbox.containers[0].image}'
counters='{.object.status.desiredReplicas}|{.object.status.updatedReplicas}|{.object.status.readyReplicas}'
generations='{.object.metadata.generation}|{.object.status.observedGeneration}'
command=$2
if [ "$command" = start ]; then
  # What watched before must not write into the new file.
  [ ! -e "$file.pid" ] || kill "$(cat "$file.pid")" 2>/dev/null || true
  rm -f "$file"
  # Each line begins with the time at which it came. Without `exec` the loop would keep the script's own output open.
  timeout 400 kubectl --kubeconfig "$KUBECONFIGS/project-a.yaml" get --namespace "$1" workloaddeployments --watch \
    --output-watch-events -o "jsonpath={.type}|{.object.metadata.name}|$container|$generations|$counters{\"\\n\"}" \
    2>"$file.errors" </dev/null | {
    exec >"$file" 2>/dev/null
    while IFS= read -r line; do printf '%s|%s\n' "$(date +%s.%N)" "$line"; done
  } &
  echo $! >"$file.pid"
  until [ -s "$file" ]; do sleep 0.05; done
  exit
fi
shift 2
most='' seconds=''
case $command in
  end) most=$1; shift ;;
  gap) seconds=$1; shift ;;
esac
image=$1
shift
# The last event may still be on its way.
sleep 0.5
awk -F'|' -v command="$command" -v most="$most" -v seconds="$seconds" -v image="$image" -v wanted="$*" '
  function complete(name) { return got[name] == image && whole[name] }
  function fail(text) { print text; failed = 1 }
  # Whether the names of a list are those of the groups, group by group.
  function follows(list, groups,   names, all, at, group, members, known, size, i, n) {
    all = split(list, names, " ")
    n = split(groups, group, " ")
    for (i = 1; i <= n; i++) {
      size = split(group[i], members, "+")
      known = "+" group[i] "+"
      while (size-- > 0) if (++at > all || !index(known, "+" names[at] "+")) return 0
    }
    return at == all
  }
  $2 == "DELETED" { delete got[$3]; delete whole[$3]; next }
  {
    got[$3] = $4
    whole[$3] = $5 == $6 && $7 == $8 && $7 == $9
    if ($4 == image && !($3 in since)) { since[$3] = $1; order = order (order == "" ? "" : " ") $3 }
    if (complete($3) && !($3 in done)) done[$3] = $1
    moving = 0
    for (name in got) if (got[name] == image && !whole[name]) moving++
    if (moving > highest) highest = moving
    if (command == "end" && moving > most) fail(moving " at once: " $0)
  }
  END {
    count = split(wanted, names, " ")
    if (command == "end" && !follows(order, wanted)) fail("the order was: " order)
    if (command == "gap" && !(names[1] in done && names[2] in since)) fail("not seen: " wanted)
    if (command == "gap" && since[names[2]] - done[names[1]] < seconds)
      fail(names[2] " got it after " since[names[2]] - done[names[1]] " s")
    if (command == "together" && highest < 2) fail("one after the other: " order)
    if (command == "together") for (i = 1; i <= count; i++) if (!(names[i] in since)) fail(names[i] " did not get it")
    exit failed
  }' "$file"
