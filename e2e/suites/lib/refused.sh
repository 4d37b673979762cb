# To be sourced, by a script in a directory of its own suite. `refused AS WORDS COMMAND...` waits until a kubectl command
# is refused with these words; the function AS runs kubectl with the identity in question.
. "$(dirname "$0")/../lib/wait.sh"
refused() {
  as=$1
  words=$2
  shift 2
  # What a command reads from its standard input has to be there at the second attempt, too.
  input=$([ -t 0 ] || cat)
  until
    if answer=$(printf '%s\n' "$input" | "$as" "$@" 2>&1); then
      echo "not refused: $*: $answer" >&2
      exit 1
    fi
    printf '%s\n' "$answer" | grep -qF -e "$words"
  do again "refused with other words than '$words': $*: $answer"; done
}
