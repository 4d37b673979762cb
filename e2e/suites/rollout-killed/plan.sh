#!/bin/sh
# Prints the kills that SEED stands for, one a line: the process, the city that has its turn, and for how many milliseconds it
# has had it. Each kind of process comes once before any comes again. The numbers are drawn here, so that a seed stands for the
# same kills on every machine.
#
#   plan.sh SEED COUNT
set -eu
state=$(($1 % 2147483648)) left=$2
# Draws a number from 0 to $1 - 1. The low bits of such a generator repeat soon.
draw() {
  state=$(((state * 1103515245 + 12345) % 2147483648))
  drawn=$((state / 65536 % $1))
}
draw 1
while [ "$left" -gt 0 ]; do
  victims='fedhub cell apiserver karmada'
  while [ "$left" -gt 0 ] && [ -n "$victims" ]; do
    # shellcheck disable=SC2086 # They are words.
    set -- $victims
    draw $#
    shift "$drawn"
    victim=$1
    victims=$(echo " $victims " | sed "s/ $victim / /; s/^ *//; s/ *$//")
    set -- ord dfw sjc ams
    draw $#
    shift "$drawn"
    draw 3000
    echo "$victim $1 $drawn"
    left=$((left - 1))
  done
done
