# To be sourced. A loop that waits calls `again MESSAGE` between two attempts. After too many, `again` prints MESSAGE
# and ends the script. Set `tries=0` before a second loop.
#
# What comes soon is seen soon; the longer it takes, the less often it is asked. An attempt by kubectl costs a tenth of a
# second of a processor, and a loop without pauses would take that from the suites beside it.
tries=0
again() {
  tries=$((tries + 1))
  if [ $tries -gt 120 ]; then
    printf '%s\n' "$*" >&2
    exit 1
  fi
  if [ $tries -le 5 ]; then sleep 0.2; else sleep 0.7; fi
}
