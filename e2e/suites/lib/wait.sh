# To be sourced. A loop that waits calls `again MESSAGE` between two attempts. After too many, `again` prints MESSAGE
# and ends the script. Set `tries=0` before a second loop.
tries=0
again() {
  tries=$((tries + 1))
  if [ $tries -gt 400 ]; then
    printf '%s\n' "$*" >&2
    exit 1
  fi
  sleep 0.1
}
