#!/bin/sh
# Prints the commands of a document of docs/: of all its `sh` blocks, or of those below one heading.
#
#   document.sh FILE [HEADING]
set -eu
awk -v heading="${2-}" '
  /^#+ / && !block { here = (heading == "" || $0 ~ "^#+ " heading "$") }
  /^```$/ { block = 0 }
  block && here { print }
  /^```sh$/ { block = 1 }' "$(dirname "$0")/../../../docs/$1"
