#!/bin/sh
# Waits until the collector has the whole way of a WD's generation as one trace, and prints its id.
#
#   one-trace.sh UID GENERATION NAME CELL
set -eu
. "$(dirname "$0")/../lib/wait.sh"
of_change() {
  "$(dirname "$0")/collector.sh" spans \
    | jq --slurp --arg uid "$1" --arg generation "$2" 'map(select(.attributes["fedhub.change.uid"] == $uid
        and .attributes["fedhub.change.generation"] == $generation))'
}
# The way from the project through hub and cell and back, and the span of it all.
whole() {
  jq --exit-status 'map(.attributes["fedhub.controller"] // .name) as $names
    | ["federator", "deployments", "readiness", "write_back", "projector", "change"] - $names == []'
}
until spans=$(of_change "$1" "$2") && printf '%s' "$spans" | whole >/dev/null; do
  again "the trace is not whole: $(printf '%s' "$spans" | jq --compact-output 'map(.attributes["fedhub.controller"] // .name) | unique')"
done
printf '%s' "$spans" | jq --raw-output --exit-status --arg wd "$3" --arg cell "$4" '
  (map(select(.name == "change"))[0]) as $root
  | if (map(.traceId) | unique | length) != 1 then "more than one trace\n" | halt_error
    elif any(.[]; .spanId != $root.spanId and .parentSpanId != $root.spanId) then "not below its root\n" | halt_error
    elif any(.[]; .process["service.name"] != "fedhub" or .process["service.version"] == null)
      then "a process without a name\n" | halt_error
    elif (map(.process | {id: .["service.instance.id"], cell: .["fedhub.cell"]}) | unique
      | length != 2 or any(.[]; .id == null) or .[0].id == .[1].id)
      then "the two processes are not told apart by their ids\n" | halt_error
    elif $root.attributes["fedhub.object.name"] != $wd then "the root is not of \($wd)\n" | halt_error
    elif (map(select(.attributes["fedhub.controller"] | IN("federator", "projector")) | .process["fedhub.cell"])
      | unique) != [null] then "the management role is not told apart\n" | halt_error
    elif (map(select(.attributes["fedhub.controller"] | IN("deployments", "readiness", "write_back"))
      | .process["fedhub.cell"]) | unique) != [$cell] then "the cell is not \($cell)\n" | halt_error
    elif any(.[]; .attributes["fedhub.object.name"] | startswith($wd) | not) then "another object is in it\n" | halt_error
    else $root.traceId end'
