# To be sourced. A loop that waits calls `again WORDS` between one look and the next; when it has waited for long enough,
# that says WORDS and ends the script. `tries=0` before a second loop.
tries=0
again() {
  tries=$((tries + 1))
  if [ $tries -gt 400 ]; then
    printf '%s\n' "$*" >&2
    exit 1
  fi
  sleep 0.1
}
